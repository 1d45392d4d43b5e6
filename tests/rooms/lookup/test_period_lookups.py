"""Lookups of entries in tables per period: what moves between periods is seen, and facts come with their entries."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from shared.inputs.page_tokens import PageTokens
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.dated import at, lookups, new_world, person

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from shared.definitions.model import Source
    from shared.entries.keys.fact_key import FactKeyValue
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store
    from shared.tables.port import Tables
    from tests.worlds.world import World

T = TypeVar("T")
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
    assert world.tables.counts.take() == 2 * tables + 1
    await reader.find("by-town", ASKED)
    assert world.tables.counts.take() == tables  # what it hides was there before this lookup began


class SlowPeriod:
    """Answers the query of one period last: after all others, and after what happens meanwhile."""

    def __init__(self) -> None:
        self.waits_for: Callable[[], Awaitable[None]] | None = None
        self.slow = ""

    async def carry(self, call: Call[T], store: Store) -> T:
        is_slow = call.kind == "query" and self.slow and call.table.endswith(self.slow)
        if is_slow and self.waits_for is not None:
            meanwhile, self.waits_for = self.waits_for, None
            for _ in range(20):
                await asyncio.sleep(0)  # the other requests of the fan-out are answered
            await meanwhile()
        return call.perform(store)


NEAR = {"p20270201": "2027-01-10T00:00:00Z", "p20270301": "2027-02-10T00:00:00Z"}


@pytest.mark.parametrize("slow", NEAR)
async def test_a_fact_that_moves_between_near_periods_is_there_throughout(slow: str) -> None:
    """Its old period is read after it has left, its new one before it came."""
    carrier = SlowPeriod()
    world = await new_world(MemoryTables(carrier=carrier))
    at(world, "2027-01-15T00:00:00")
    (other,) = [until for period, until in NEAR.items() if period != slow]
    for fact, until in (("a", other), ("f", NEAR[slow]), ("z", NEAR[slow])):
        await world.apply(world.writer.change(fact, person(until, name=fact)))
    reader = lookups(world)

    async def move() -> None:
        await world.apply(world.writer.change("f", person(other, name="f")))

    carrier.slow, carrier.waits_for = slow, move
    assert [entry["id"] for entry in (await reader.find("by-town", ASKED)).entries] == ["a", "f", "z"]
    assert carrier.waits_for is None


@pytest.mark.parametrize("size", ["1", "100"])
async def test_a_page_ends_before_an_entry_that_moves_under_the_second_read(size: str) -> None:
    """Something was hidden, so the tables are read again, and that read comes too early and too late for a fact."""
    carrier = SlowPeriod()
    world = await new_world(MemoryTables(carrier=carrier))
    at(world, "2027-01-15T00:00:00")
    slow, there = "p20270201", NEAR["p20270201"]
    for fact in ("a", "d", "f", "z"):
        await world.apply(world.writer.change(fact, person(there, name=fact)))
    reader = lookups(world)

    async def remove() -> None:
        carrier.waits_for = move
        await world.apply(world.writer.change("d", None))

    async def move() -> None:
        await world.apply(world.writer.change("f", person(NEAR["p20270301"], name="f")))

    carrier.slow, carrier.waits_for = slow, remove
    asked: dict[str, str] | None = {**ASKED, "maxpagesize": size}
    ids = []
    while asked is not None:
        page = await reader.find("by-town", asked)
        ids += [entry["id"] for entry in page.entries]
        asked = page.next_parameters
    assert [name for name in ids if name != "d"] == ["a", "f", "z"]


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
