"""Which generation serves an index: while storage gives no answer, and before a worker knows the index."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import pytest

from shared.catalog.catalog import Catalog
from shared.catalog.register import DefinitionRegistrar
from shared.errors import IndexBuildingError, StorageUnavailableError
from shared.lookup.generations import CatalogGenerations
from shared.pipeline.concurrency import AtOnce
from shared.pipeline.ledger.scan import has_rows
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.retry import Timing
from tests.worlds.lookup_facts import DEFINITIONS

if TYPE_CHECKING:
    from shared.definitions.model import Definitions
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store

T = TypeVar("T")
REFRESH_SECONDS = 30


class Line:
    """The way to an endpoint, which may be down."""

    def __init__(self) -> None:
        self.is_down = False

    async def carry(self, call: Call[T], store: Store) -> T:
        """The answer, or none."""
        if self.is_down:
            raise StorageUnavailableError("It is down: try again.", outcome_unknown=False)
        return call.perform(store)


class World:
    """A catalog with the definitions in it, behind two endpoints, and a clock."""

    def __init__(self) -> None:
        self.primary, self.secondary, self.seconds = Line(), Line(), 0.0
        self.tables = MemoryTables(carrier=self.primary)
        self.catalogs = [Catalog(self.tables), Catalog(MemoryTables(self.tables.store, self.secondary))]

    async def generations(self, entered: Definitions = DEFINITIONS) -> CatalogGenerations:
        """What lookups ask, when workers have entered these definitions."""
        await self.tables.create_table("Ledger")
        has_facts = partial(has_rows, self.tables, AtOnce())
        await DefinitionRegistrar(self.catalogs[0], 0, has_facts).register(entered, 0)
        timing = Timing(lambda: self.seconds, lambda: self.seconds, asyncio.sleep, lambda: 0.5)
        return CatalogGenerations(DEFINITIONS, self.catalogs, timing, REFRESH_SECONDS)


async def test_the_secondary_is_asked_when_the_primary_gives_no_answer() -> None:
    """A lookup of one that reads from there needs the catalog, too."""
    world = World()
    generations = await world.generations()
    world.primary.is_down = True
    assert (await generations.serving("customers-by-town")).index.name == "customers-by-town"


async def test_what_was_read_before_serves_while_no_endpoint_answers() -> None:
    """A switch is learned of later; lookups go on."""
    world = World()
    generations = await world.generations()
    before = await generations.serving("customers-by-town")
    world.primary.is_down = world.secondary.is_down = True
    world.seconds = 2 * REFRESH_SECONDS
    assert (await generations.serving("customers-by-town")).id == before.id


async def test_a_switch_that_was_taken_back_before_its_moment_is_never_seen() -> None:
    """Also by an instance that has read of it, and would not read the catalog again for a while."""
    world = World()
    generations = await world.generations()
    index = "customers-by-town"
    old = await generations.serving(index)
    snapshot = await world.catalogs[0].read()
    (other,) = [one for one in snapshot.generations if one.index == "customers-by-name"]
    world.seconds = REFRESH_SECONDS + 1
    switched = replace(snapshot.served[index], serving=other.id, before=old.id, since=world.seconds + REFRESH_SECONDS)
    assert await world.catalogs[0].write(switched)
    assert (await generations.serving(index)).id == old.id
    served = (await world.catalogs[0].read()).served[index]
    assert await world.catalogs[0].write(replace(served, serving=old.id, before=other.id, since=world.seconds + 1))
    world.seconds = switched.since
    assert (await generations.serving(index)).id == old.id


async def test_a_switch_happens_at_its_moment_while_no_endpoint_answers() -> None:
    """What was read of it is good enough."""
    world = World()
    generations = await world.generations()
    index = "customers-by-town"
    snapshot = await world.catalogs[0].read()
    (other,) = [one for one in snapshot.generations if one.index == "customers-by-name"]
    served = snapshot.served[index]
    assert await world.catalogs[0].write(replace(served, serving=other.id, before=served.serving, since=10.0))
    assert (await generations.serving(index)).id == served.serving
    world.primary.is_down = world.secondary.is_down = True
    world.seconds = 10.0
    assert (await generations.serving(index)).id == other.id


async def test_a_catalog_that_was_never_read_is_not_guessed() -> None:
    """A changed definition may be served by its old generation still: nobody knows which table is right."""
    world = World()
    generations = await world.generations()
    world.primary.is_down = world.secondary.is_down = True
    with pytest.raises(StorageUnavailableError):
        await generations.serving("customers-by-town")


async def test_a_new_index_on_a_known_source_is_building_before_a_worker_has_entered_it() -> None:
    """The facts that came before are missing from it: an empty page would be a lie."""
    world = World()
    indexes = {name: one for name, one in DEFINITIONS.indexes.items() if name != "customers-by-town"}
    generations = await world.generations(replace(DEFINITIONS, indexes=indexes))
    with pytest.raises(IndexBuildingError, match="no worker has started with it"):
        await generations.serving("customers-by-town")


async def test_an_index_on_a_source_that_nobody_knows_is_served_empty() -> None:
    """Its first worker finds no facts, and the feed fills it."""
    world = World()
    generations = await world.generations(replace(DEFINITIONS, sources={}, indexes={}))
    assert (await generations.serving("customers-by-town")).index.name == "customers-by-town"
