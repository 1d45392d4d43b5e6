"""An index that moves read-only: what serves gets no changes, its successor gets all; there is no way back to it."""

from __future__ import annotations

import pytest

from shared.errors import LifecycleRefusedError
from shared.pipeline.ledger.retention import Retention
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.building import BUILD_DELAY_SECONDS, REFRESH_SECONDS, BuildingWorld
from tests.worlds.world import TOWNS, nothing_listed

MOVED = TOWNS.replace("sort: name", "sort: name, shards: 4")
HOUR_SECONDS = 3600


@pytest.fixture
async def world() -> BuildingWorld:
    """An index with a fact that serves, and a definition with more shards that every worker knows."""
    world = BuildingWorld(MemoryTables())
    await world.write(await world.worker(TOWNS), "a", town="t", phone="1")
    await world.worker(MOVED)
    world.seconds += BUILD_DELAY_SECONDS
    return world


async def move(world: BuildingWorld) -> tuple[str, str]:
    """Build and switch; the ids of what served and of what serves."""
    await world.build(MOVED)
    await world.catalog.note_verified((await world.generations())["standby"], 0, world.seconds)
    served = await world.lifecycle(MOVED).switch("by-town")
    world.seconds = served.since
    return served.before, served.serving


async def refused(world: BuildingWorld, call: str, code: str, text: str = MOVED) -> None:
    """A call is refused, and the catalog is as it was."""
    before = await world.catalog.read()
    with pytest.raises(LifecycleRefusedError) as caught:
        await getattr(world.lifecycle(text), call)("by-town")
    assert caught.value.code == code
    assert await world.catalog.read() == before


async def test_changes_go_to_the_successor_alone(world: BuildingWorld) -> None:
    """What serves keeps what it had; after the move everything is there."""
    frozen = await world.lifecycle(MOVED).make_read_only("by-town")
    worker = await world.worker(MOVED)
    await world.write(worker, "a", town="t", phone="2")
    await world.write(worker, "b", town="t", phone="3")
    assert await world.entries(frozen.id) == {"a": {"phone": "1"}}
    _, new = await move(world)
    assert await world.entries(new) == {"a": {"phone": "2"}, "b": {"phone": "3"}}


async def test_it_is_too_early_while_a_worker_may_not_know_the_successor() -> None:
    """A change could be written to neither."""
    world = BuildingWorld(MemoryTables())
    await world.write(await world.worker(TOWNS), "a", town="t", phone="1")
    await world.worker(MOVED)
    await refused(world, "make_read_only", "TooEarly")


async def test_without_a_successor_nothing_is_made_read_only(world: BuildingWorld) -> None:
    """An index that is what its definition says would stand still."""
    await refused(world, "make_read_only", "NothingToMove", TOWNS)


async def test_making_it_read_only_twice_changes_nothing(world: BuildingWorld) -> None:
    """The first moment counts."""
    first = await world.lifecycle(MOVED).make_read_only("by-town")
    world.seconds += 10
    assert await world.lifecycle(MOVED).make_read_only("by-town") == first


async def test_what_was_read_only_goes_soon_and_cannot_be_rolled_back_to(world: BuildingWorld) -> None:
    """It lacks changes; its grace is the time that lookups take to switch."""
    await world.lifecycle(MOVED).make_read_only("by-town")
    old, _ = await move(world)
    await refused(world, "rollback", "RollbackExpired")
    world.seconds += REFRESH_SECONDS + 3
    await world.lifecycle(MOVED).retire_unwanted(world.accounts)
    listed = (await world.catalog.read()).generation(old)
    assert listed is not None
    assert listed.state == "retired"


async def test_a_definition_that_is_put_back_is_built_again(world: BuildingWorld) -> None:
    """The read-only generation serves until then, and is never taken for the new one."""
    frozen = await world.lifecycle(MOVED).make_read_only("by-town")
    await world.write(await world.worker(MOVED), "a", town="t", phone="2")
    await world.worker(TOWNS)
    await world.build(TOWNS)
    await world.catalog.note_verified((await world.generations())["standby"], 0, world.seconds)
    served = await world.lifecycle(TOWNS).switch("by-town")
    assert (served.before, served.serving) == (frozen.id, f"{frozen.id}r2")
    assert await world.entries(served.serving) == {"a": {"phone": "2"}}


async def test_the_ledger_forgets_a_deleted_fact_that_only_a_retired_generation_lists(world: BuildingWorld) -> None:
    """Its entry is gone with the table."""
    await world.lifecycle(MOVED).make_read_only("by-town")
    parts = await world.parts(MOVED)
    await world.write(parts.worker, "a", town="t", phone="1", gone=True)
    await move(world)
    world.seconds += REFRESH_SECONDS + 3
    await world.lifecycle(MOVED).retire_unwanted(world.accounts)
    await parts.write_plans.current()
    forgotten = 0
    for _ in range(24):
        world.seconds += HOUR_SECONDS
        plans = await parts.write_plans.current()
        forgotten += await Retention(world.tables, 10, lambda: world.seconds, nothing_listed).clean(plans.values())
    assert forgotten == 1
