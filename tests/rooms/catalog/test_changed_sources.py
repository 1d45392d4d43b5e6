"""A source that distinguishes its facts, or orders their versions, in another way than before is refused at start."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.errors import DefinitionsError
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.building import BUILD_DELAY_SECONDS, GRACE_SECONDS, REFRESH_SECONDS, BuildingWorld
from tests.worlds.world import TOWNS

CHANGED = {
    "partitionKey": TOWNS.replace("partitionKey: id", "partitionKey: team"),
    "version": TOWNS.replace("partitionKey: id", "partitionKey: id, version: revision"),
}
HUB = """
version: 1
sources: {people: {eventHub: people}}
indexes:
  by-town: {source: people, partition: town, sort: name, project: [phone]}
"""


@pytest.fixture
async def world() -> BuildingWorld:
    """An index with a fact."""
    world = BuildingWorld(MemoryTables())
    await world.write(await world.worker(TOWNS), "a", town="t", phone="1")
    return world


@pytest.mark.parametrize("key", CHANGED)
async def test_what_identifies_facts_cannot_change(world: BuildingWorld, key: str) -> None:
    """The worker does not start, and says what was and what to do; the catalog is as it was."""
    before = await world.catalog.read()
    with pytest.raises(DefinitionsError, match=f"its {key} was .* give the source a new name"):
        await world.worker(CHANGED[key])
    assert await world.catalog.read() == before


async def test_a_feed_cannot_become_a_hub(world: BuildingWorld) -> None:
    """Their clocks have nothing to do with each other; a declared version would be the clock of both."""
    with pytest.raises(DefinitionsError, match=r"its partitionKey was .*, version was 'of Cosmos DB'"):
        await world.worker(HUB)


async def test_the_id_of_events_cannot_change() -> None:
    """That of a Cosmos DB fact is always `id`."""
    world = BuildingWorld(MemoryTables())
    await world.worker(HUB)
    with pytest.raises(DefinitionsError, match="its id was 'id'"):
        await world.worker(HUB.replace("eventHub: people", "eventHub: people, id: key"))


async def test_the_same_under_a_new_name_is_built(world: BuildingWorld) -> None:
    """As the refusal says."""
    await world.worker(
        CHANGED["version"].replace("people: {cosmos", "persons: {cosmos").replace("source: people", "source: persons")
    )
    assert sorted(await world.generations()) == ["building", "serving"]


async def test_a_worker_stops_when_another_deployment_has_changed_its_source(world: BuildingWorld) -> None:
    """One of two that start at once may be too late to be refused: then both stop before they contradict each other."""
    parts = await world.parts(TOWNS)
    other = BuildingWorld(MemoryTables())
    await other.worker(CHANGED["version"].replace("by-town", "by-phone"))
    (listed,) = (await other.catalog.read()).generations
    assert await world.catalog.write(replace(listed, etag=None))
    world.seconds += REFRESH_SECONDS
    with pytest.raises(DefinitionsError, match="give the source a new name"):
        await parts.write_plans.current()


async def test_a_source_without_an_index_is_free_to_change(world: BuildingWorld) -> None:
    """Once the last generation that was kept from it is retired."""
    without = "version: 1\nsources: {}\nindexes: {}\n"
    lifecycle = world.lifecycle(without)
    for seconds in (0, GRACE_SECONDS + 1, BUILD_DELAY_SECONDS + 1):
        world.seconds += seconds
        await lifecycle.retire_unwanted(world.accounts)
    assert {generation.state for generation in (await world.catalog.read()).generations} == {"retired"}
    await world.worker(CHANGED["partitionKey"])
