"""Switch, roll back, retire: one row decides what serves, and every refusal says why and changes nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from shared.definitions.model import Placement
from shared.errors import LifecycleRefusedError, UnknownIndexError
from shared.tables.memory.memory_tables import MemoryTables
from shared.tasks.rows import Task
from shared.tasks.runner import CLAIM_SECONDS
from tests.worlds.building import BUILD_DELAY_SECONDS, CHANGED, GRACE_SECONDS, REFRESH_SECONDS, BuildingWorld, built
from tests.worlds.world import TOWNS

if TYPE_CHECKING:
    from shared.catalog.rows import CatalogSnapshot

OTHER = TOWNS.replace("project: [phone]", "project: all")


@pytest.fixture
async def world() -> BuildingWorld:
    """An index with facts that serves, and a changed definition that is entered."""
    world = BuildingWorld(MemoryTables())
    worker = await world.worker(TOWNS)
    await world.write(worker, "a", town="t", phone="1", email="2")
    await world.worker(CHANGED)
    return world


def serving(snapshot: CatalogSnapshot, seconds: float) -> str:
    """The id of what serves at a moment."""
    found = snapshot.serving("by-town", seconds)
    assert found is not None
    return found.id


async def refused(world: BuildingWorld, code: str, call: str, text: str = CHANGED, **arguments: object) -> None:
    """A call is refused with this code, and the catalog is as it was."""
    before = await world.catalog.read()
    with pytest.raises(LifecycleRefusedError) as caught:
        await getattr(world.lifecycle(text), call)("by-town", **arguments)
    assert caught.value.code == code
    assert await world.catalog.read() == before


async def test_a_switch_has_one_moment(world: BuildingWorld) -> None:
    """It lies further ahead than any lookup is behind with the catalog: before it the old one, from it on the new."""
    await built(world)
    before = await world.catalog.read()
    old, new = serving(before, world.seconds), (await world.generations())["standby"]
    served = await world.lifecycle(CHANGED).switch("by-town")
    after = await world.catalog.read()
    assert served.since >= world.seconds + REFRESH_SECONDS
    assert (serving(after, served.since - 0.001), serving(after, served.since)) == (old, new)


async def test_the_generation_that_served_before_is_kept_up_to_date(world: BuildingWorld) -> None:
    """So that a rollback shows what has changed since."""
    await built(world)
    served = await world.lifecycle(CHANGED).switch("by-town")
    world.seconds = served.since
    await world.write(await world.worker(CHANGED), "b", town="t", phone="3", email="4")
    back = await world.lifecycle(CHANGED).rollback("by-town")
    assert (back.serving, back.before) == (served.before, served.serving)
    assert await world.entries(back.serving) == {"a": {"phone": "1"}, "b": {"phone": "3"}}


async def test_a_switch_can_be_taken_back_before_its_moment(world: BuildingWorld) -> None:
    """Then nothing has happened."""
    await built(world)
    old = serving(await world.catalog.read(), world.seconds)
    served = await world.lifecycle(CHANGED).switch("by-town")
    await world.lifecycle(CHANGED).rollback("by-town")
    assert serving(await world.catalog.read(), served.since + 1) == old


async def test_a_switch_is_not_taken_back_unseen_when_a_clock_may_be_past_its_moment(world: BuildingWorld) -> None:
    """Some lookups may use the new generation already: then the old one serves again from another moment on."""
    await built(world)
    served = await world.lifecycle(CHANGED).switch("by-town")
    world.seconds = served.since - 0.5
    back = await world.lifecycle(CHANGED).rollback("by-town")
    assert (back.before, back.serving) == (served.serving, served.before)
    assert back.since > world.seconds + REFRESH_SECONDS


async def test_after_the_grace_the_old_generation_is_retired_and_its_table_dropped(world: BuildingWorld) -> None:
    """The table goes when no batch and no lookup that knows it can be running any more."""
    await built(world)
    served = await world.lifecycle(CHANGED).switch("by-town")
    lifecycle = world.lifecycle(CHANGED)
    world.seconds += GRACE_SECONDS - 1
    await lifecycle.retire_unwanted(world.accounts)
    old = (await world.catalog.read()).generation(served.before)
    assert old is not None
    assert old.state == "standby"
    world.seconds += 2
    await lifecycle.retire_unwanted(world.accounts)
    await lifecycle.retire_unwanted(world.accounts)
    assert isinstance(world.tables, MemoryTables)
    assert (await world.catalog.read()).generation(served.before) == replace(
        old, state="retired", retired_at=int(world.seconds)
    )
    assert len((await world.tables.query(old.table, None)).rows) == 1
    world.seconds += BUILD_DELAY_SECONDS + 1
    await lifecycle.retire_unwanted(world.accounts)
    assert not await world.tables.delete_table(old.table)
    await refused(world, "RollbackExpired", "rollback")


async def test_ledger_parts_of_a_retired_generation_are_dropped_by_the_next_claim(world: BuildingWorld) -> None:
    """Without tombstones: the table goes as a whole."""
    await built(world)
    served = await world.lifecycle(CHANGED).switch("by-town")
    worker = await world.worker(CHANGED)
    await world.catalog.change(served.before, lambda generation: replace(generation, state="retired"))
    world.seconds += REFRESH_SECONDS
    await world.write(worker, "a", town="u", phone="1", email="5")
    assert await world.entries(served.serving) == {"a": {"email": "5"}}
    assert await world.entries(served.before) == {"a": {"phone": "1"}}


async def test_an_index_whose_definition_has_left_the_file_is_retired_after_the_grace(world: BuildingWorld) -> None:
    """Putting it back in time changes nothing at all."""
    without = TOWNS.replace("by-town", "by-place")
    await world.worker(without)
    await world.lifecycle(without).retire_unwanted(world.accounts)
    world.seconds += GRACE_SECONDS
    await world.lifecycle(TOWNS).retire_unwanted(world.accounts)
    await world.lifecycle(without).retire_unwanted(world.accounts)
    assert "serving" in await world.generations()
    world.seconds += GRACE_SECONDS + 1
    for _ in range(2):  # one generation of an index at a time
        await world.lifecycle(without).retire_unwanted(world.accounts)
    states = {(generation.index, generation.state) for generation in (await world.catalog.read()).generations}
    assert states == {("by-town", "retired"), ("by-place", "building")}


async def test_a_definition_that_was_replaced_before_it_served_is_retired(world: BuildingWorld) -> None:
    """No caller waits for it; what serves stays."""
    await world.worker(OTHER)
    await world.lifecycle(OTHER).retire_unwanted(world.accounts)
    world.seconds += GRACE_SECONDS + 1
    await world.lifecycle(OTHER).retire_unwanted(world.accounts)
    states = sorted(generation.state for generation in (await world.catalog.read()).generations)
    assert states == ["building", "retired", "serving"]


async def test_of_switch_and_retirement_at_once_one_happens(world: BuildingWorld) -> None:
    """Each is conditional on the rows of the other."""
    await built(world)
    target = (await world.generations())["standby"]
    snapshot = await world.catalog.read()
    lifecycle = world.lifecycle(CHANGED)
    listed = snapshot.generation(target)
    assert listed is not None
    await lifecycle.switch("by-town")
    await lifecycle._retire(listed, int(world.seconds))
    after = (await world.catalog.read()).generation(target)
    assert after is not None
    assert after.state == "serving"


async def test_of_rollback_and_retirement_at_once_one_happens(world: BuildingWorld) -> None:
    """The rollback writes the row of the generation, too, which the retirement is conditional on."""
    await built(world)
    old = serving(await world.catalog.read(), world.seconds)
    await world.lifecycle(CHANGED).switch("by-town")
    world.seconds += REFRESH_SECONDS + 10
    listed = (await world.catalog.read()).generation(old)
    assert listed is not None
    await world.lifecycle(CHANGED).rollback("by-town")
    await world.lifecycle(CHANGED)._retire(listed, int(world.seconds))
    after = (await world.catalog.read()).generation(old)
    assert after is not None
    assert not after.is_retired


async def test_a_build_that_failed_can_be_started_again(world: BuildingWorld) -> None:
    """Under a number of its own."""
    runner = world.runner()
    first = await world.lifecycle(CHANGED, runner).build("by-town")
    stored = await world.rows.task(first.task.id)
    assert stored is not None
    await world.rows.save_task(replace(stored, state="failed", problem="planted"))
    second = await world.lifecycle(CHANGED, runner).build("by-town")
    assert [first.task.id[-2:], second.task.id[-2:]] == ["-1", "-2"]


async def test_a_build_of_a_process_that_is_gone_can_be_started_again(world: BuildingWorld) -> None:
    """No other process goes on with it. While its own may be working on it, it is not taken away."""
    (build,) = world.runner().kinds.values()
    here = replace(world.runner(), kinds={"build-here": build})
    first = await world.lifecycle(CHANGED, here).build("by-town", kind="build-here")
    world.seconds = first.task.not_before
    await refused(world, "AlreadyBuilding", "build")
    world.seconds += CLAIM_SECONDS
    (work_slice,) = first.slices
    held = await world.rows.save(replace(work_slice, claimed_until=world.seconds + 1))
    await refused(world, "AlreadyBuilding", "build")
    world.seconds += 1
    assert held is not None
    second = await world.lifecycle(CHANGED).build("by-town")
    assert (second.task.id[-2:], second.task.kind) == ("-2", "build")
    ended = await world.rows.task(first.task.id)
    assert ended is not None
    assert ended.state == "failed"


async def test_a_table_out_of_reach_keeps_no_other_from_being_dropped(world: BuildingWorld) -> None:
    """The connection of its account has gone with its index."""
    generation = (await world.catalog.read()).generations[0]
    retired = replace(generation, state="retired", retired_at=int(world.seconds))
    far = replace(generation.definition, placement=Placement("hash", ("SOUTH",)))
    # Its row comes first.
    await world.catalog.write(retired, replace(retired, id="0", definition=far, etag=None))
    world.seconds += BUILD_DELAY_SECONDS + 1
    await world.lifecycle(CHANGED).retire_unwanted(world.accounts)
    dropped = {each.id for each in (await world.catalog.read()).generations if each.dropped_at is not None}
    assert dropped == {generation.id}


@pytest.mark.parametrize("budget", [0, -1, 0.5, float("nan")])
async def test_a_budget_that_builds_nothing_is_refused(world: BuildingWorld, budget: float) -> None:
    """Before anything is written."""
    await refused(world, "BadBudget", "build", budget=budget)


async def test_an_index_that_is_being_built_is_not_built_again(world: BuildingWorld) -> None:
    """Nor when two ask at once."""
    await world.lifecycle(CHANGED).build("by-town")
    await refused(world, "AlreadyBuilding", "build")


async def test_what_serves_is_not_built(world: BuildingWorld) -> None:
    """Nor what is built."""
    await refused(world, "NothingToBuild", "build", TOWNS)
    await built(world)
    await refused(world, "NothingToBuild", "build")


async def test_a_definition_that_no_worker_has_entered_is_not_built(world: BuildingWorld) -> None:
    """It is deployed first."""
    await refused(world, "NothingToBuild", "build", OTHER)


async def test_a_source_whose_facts_are_identified_otherwise_cannot_be_built(world: BuildingWorld) -> None:
    """No app starts with such a file, but a command that builds by itself may be given one."""
    await refused(world, "CannotBuild", "build", CHANGED.replace("partitionKey: id", "partitionKey: town"))


async def test_what_is_not_built_is_not_switched_to(world: BuildingWorld) -> None:
    """Not even with force."""
    await refused(world, "NotBuilt", "switch")
    await refused(world, "NotBuilt", "switch", force=True)


async def test_what_is_not_verified_is_not_switched_to(world: BuildingWorld) -> None:
    """Unless the operator insists."""
    await world.build(CHANGED)
    await refused(world, "NotVerified", "switch")
    standby = (await world.generations())["standby"]
    await world.catalog.note_verified(standby, 3, world.seconds)
    await refused(world, "NotVerified", "switch")
    await world.lifecycle(CHANGED).switch("by-town", force=True)


async def test_what_lacks_facts_is_not_switched_to(world: BuildingWorld) -> None:
    """Unless the operator insists."""
    await built(world)
    standby = (await world.generations())["standby"]
    await world.catalog.change(standby, lambda generation: replace(generation, unbuilt=2))
    await refused(world, "Incomplete", "switch")
    await world.lifecycle(CHANGED).switch("by-town", force=True)


async def test_what_serves_is_not_switched_to(world: BuildingWorld) -> None:
    """There is nothing to do."""
    await refused(world, "AlreadyServing", "switch", TOWNS)


async def test_where_nothing_served_before_nothing_is_rolled_back(world: BuildingWorld) -> None:
    """The first generation has no other."""
    await refused(world, "NothingToRollBack", "rollback")


async def test_an_index_that_is_not_defined_is_unknown(world: BuildingWorld) -> None:
    """Whatever is asked for."""
    for call in ("build", "switch", "rollback", "state"):
        with pytest.raises(UnknownIndexError):
            await getattr(world.lifecycle(CHANGED), call)("by-name")


async def test_a_build_that_crashed_before_its_task_was_written_is_started_again(world: BuildingWorld) -> None:
    """The catalog names a task that does not exist."""
    building = (await world.generations())["building"]
    await world.catalog.change(building, lambda generation: replace(generation, build=f"build-{building}-1"))
    progress = await world.lifecycle(CHANGED).build("by-town")
    assert isinstance(progress.task, Task)
    assert progress.task.id.endswith("-2")
