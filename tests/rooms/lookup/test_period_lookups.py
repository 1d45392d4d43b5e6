"""Lookups of entries in tables per period: what moves between periods is seen, and facts come with their entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from shared.inputs.page_tokens import PageTokens
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.replicas import Replicas
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.dated import lookups, new_world, person

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.definitions.model import Source
    from shared.entries.keys.fact_key import FactKeyValue
    from shared.tables.port import Tables
    from tests.worlds.world import World

ASKED = {"town": "X"}


@pytest.fixture
async def world(service: Tables) -> World:
    """A source of its own whose entries live for thirty days, in tables per month."""
    return await new_world(service)


class OneFact:
    """A container with one document, whatever is asked for."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document

    async def read(self, source: Source, fact_id: str, partition_key: Sequence[FactKeyValue]) -> dict[str, Any] | None:
        """The document."""
        return self._document


async def test_a_fact_that_moves_to_a_far_period_is_seen_at_once(world: World) -> None:
    """The tables were listed before there was one for that period; the tombstone says that there may be more."""
    reader = lookups(world)
    await world.apply(world.writer.change("f", person("2027-01-10T00:00:00Z")))
    assert [entry["id"] for entry in (await reader.find("by-town", ASKED)).entries] == ["f"]
    await world.apply(world.writer.change("f", person("2035-05-05T00:00:00Z")))
    assert [entry["id"] for entry in (await reader.find("by-town", ASKED)).entries] == ["f"]


async def test_tables_are_listed_again_only_for_what_is_hidden() -> None:
    """A lookup that finds what it asks for takes one transaction for each table, and no list."""
    world = await new_world(MemoryTables())
    assert isinstance(world.tables, MemoryTables)
    reader = lookups(world)
    await world.apply(world.writer.change("f", person("2027-01-10T00:00:00Z")))
    await reader.find("by-town", ASKED)
    tables = (await reader.explain("by-town", ASKED))["storageTransactionsPerPage"]
    world.tables.counts.take()
    await reader.find("by-town", ASKED)
    assert world.tables.counts.take() == tables
    await world.apply(world.writer.change("f", None))
    world.tables.counts.take()
    await reader.find("by-town", ASKED)
    assert world.tables.counts.take() == tables + 1


async def test_a_fact_whose_expiry_is_not_applied_yet_comes_with_its_entry(world: World) -> None:
    """Its key has not changed: only the index does not know yet that it lives longer."""
    await world.apply(world.writer.change("f", person("2027-01-10T00:00:00Z")))
    for document, expected in ((person("2027-02-10T00:00:00Z"), 1), (person("2027-02-10T00:00:00Z", town="Y"), 0)):
        reader = Lookups(
            DefinedGenerations(world.definitions),
            Replicas(world.tables),
            PageTokens(b"key"),
            now_seconds=lambda: world.now_seconds,
            facts=OneFact({"id": "f", **document}),
        )
        page = await reader.find("by-town", {**ASKED, "expand": "fact"})
        assert len(page.entries) == expected
