"""A build brings every fact into a new generation, at the facts' own versions, beside the live feed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from shared.entries.changes.received_event import ReceivedEvent
from shared.errors import StorageUnavailableError, TransientError
from shared.lifecycle.build import Builds, BuildSources, changes_per_apply
from shared.pipeline.dead_letters.listing import DeadLetterFilter
from shared.pipeline.ledger.rows import LEDGER_TABLE
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.building import CHANGED, REFRESH_SECONDS, BuildingWorld, KeptFeed
from tests.worlds.kept_facts import KeptFacts
from tests.worlds.world import TOWNS, definitions_of

if TYPE_CHECKING:
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store

T = TypeVar("T")

HUB = """
version: 1
sources:
  people: {eventHub: people, partitionKey: id}
indexes:
  by-town: {source: people, partition: town, sort: name, project: [phone]}
"""


@pytest.fixture
def world() -> BuildingWorld:
    """Everything in memory."""
    return BuildingWorld(MemoryTables())


async def test_all_facts_are_in_the_new_generation(world: BuildingWorld) -> None:
    """With the columns that the new definition projects; the old generation is as it was."""
    worker = await world.worker(TOWNS)
    for number in range(25):
        await world.write(worker, f"f{number}", town=f"t{number % 3}", phone=str(number), email=f"e{number}")
    await world.worker(CHANGED)
    progress = await world.build(CHANGED, world.runner(window=10, page_facts=4))
    assert (progress.task.state, progress.counts["facts"], progress.counts["entries"]) == ("done", 25, 25)
    found = await world.generations()
    assert found.keys() == {"serving", "standby"}
    assert await world.entries(found["standby"]) == {f"f{n}": {"email": f"e{n}"} for n in range(25)}
    assert await world.entries(found["serving"]) == {f"f{n}": {"phone": str(n)} for n in range(25)}


async def test_a_build_writes_to_the_new_generation_alone(world: BuildingWorld) -> None:
    """The serving one costs nothing."""
    worker = await world.worker(TOWNS)
    for number in range(10):
        await world.write(worker, f"f{number}", town="t", phone="1", email="e")
    await world.worker(CHANGED)
    assert isinstance(world.tables, MemoryTables)
    before = world.tables.counts.by_table_and_kind()
    await world.build(CHANGED)
    serving = (await world.catalog.read()).serving("by-town", world.seconds)
    assert serving is not None
    after = world.tables.counts.by_table_and_kind()
    assert {key: count for key, count in after.items() if key[0] == serving.table} == {
        key: count for key, count in before.items() if key[0] == serving.table
    }


async def test_a_thousand_facts_cost_few_transactions(world: BuildingWorld) -> None:
    """Ledger rows are read by ranges, claimed and written a hundred at a time."""
    worker = await world.worker(TOWNS)
    documents = [await world.put(f"f{number}", town="t", phone="1", email="e") for number in range(2000)]
    await worker.apply_latest("people", documents)
    await world.worker(CHANGED)
    progress = await world.build(CHANGED)
    assert progress.counts["entries"] == 2000
    assert progress.counts["transactions"] <= 0.05 * 2000


async def test_nothing_is_built_before_every_worker_writes_to_it(world: BuildingWorld) -> None:
    """The moment is fixed when the generation is entered."""
    worker = await world.worker(TOWNS)
    await world.write(worker, "a", town="t", email="e")
    await world.worker(CHANGED)
    runner = world.runner()
    progress = await world.lifecycle(CHANGED, runner).build("by-town")
    assert await runner.work(progress.task.id, progress.slices[0].name) is False
    found = await world.generations()
    assert await world.entries(found["building"]) == {}
    world.seconds = progress.task.not_before
    assert await runner.work(progress.task.id, progress.slices[0].name) is True


async def test_what_a_late_worker_left_behind_is_applied_again(world: BuildingWorld) -> None:
    """One that ran with an old view of the catalog for longer than it may: changed, new and deleted facts."""
    old = await world.worker(TOWNS)
    for name in "abcd":
        await world.write(old, name, town="t", email="1")
    await world.worker(CHANGED)
    runner = world.runner()
    progress = await world.lifecycle(CHANGED, runner).build("by-town")
    world.seconds = progress.task.not_before
    await runner.work(progress.task.id, progress.slices[0].name)
    old._plans._read_at_seconds = world.seconds  # it believes that its view is new
    await world.write(old, "a", town="u", email="2")
    await world.write(old, "b", town="t", email="2", gone=True)
    await world.write(old, "e", town="t", email="2")
    progress = await world.run(runner, progress.task.id)
    assert progress.counts["behind"] == 3
    found = await world.generations()
    assert await world.entries(found["standby"]) == {
        "a": {"email": "2"},
        "c": {"email": "1"},
        "d": {"email": "1"},
        "e": {"email": "2"},
    }


async def test_a_fact_that_is_newer_than_the_ledger_waits_for_the_feed(world: BuildingWorld) -> None:
    """No version is invented for it: the live feed brings it, also to the new generation."""
    old = await world.worker(TOWNS)
    await world.write(old, "a", town="t", email="1")
    new = await world.worker(CHANGED)
    runner = world.runner()
    progress = await world.lifecycle(CHANGED, runner).build("by-town")
    world.seconds = progress.task.not_before
    await runner.work(progress.task.id, progress.slices[0].name)
    old._plans._read_at_seconds = world.seconds
    await world.write(old, "a", town="t", email="2")
    newest = await world.put("a", town="t", email="3")
    await world.run(runner, progress.task.id)
    standby = (await world.generations())["standby"]
    assert await world.entries(standby) == {"a": {"email": "1"}}
    await new.apply_latest("people", [newest])
    assert await world.entries(standby) == {"a": {"email": "3"}}


async def test_a_fact_that_is_gone_from_its_container_is_left_out(world: BuildingWorld) -> None:
    """The feed shows no hard delete; the old generation still has it."""
    worker = await world.worker(TOWNS)
    await world.write(worker, "a", town="t", email="1")
    await world.write(worker, "b", town="t", email="1")
    await world.remove("b")
    await world.worker(CHANGED)
    await world.build(CHANGED)
    found = await world.generations()
    assert set(await world.entries(found["standby"])) == {"a"}


async def test_a_build_goes_on_where_a_crash_left_it(world: BuildingWorld) -> None:
    """The page that was not noted is applied again, which the ledger knows."""
    worker = await world.worker(TOWNS)
    for number in range(12):
        await world.write(worker, f"f{number:02}", town="t", email=str(number))
    await world.worker(CHANGED)
    fuse = Fuse()
    assert isinstance(world.tables, MemoryTables)
    tables = MemoryTables(world.tables.store, fuse)
    failing = BuildingWorld(tables)
    failing.seconds = world.seconds
    runner = failing.runner(window=3, page_facts=3)
    progress = await world.lifecycle(CHANGED, world.runner()).build("by-town")
    failing.seconds = world.seconds = progress.task.not_before
    crashes = 0
    for calls in range(1, 200):
        fuse.calls = calls
        try:
            await failing.run(runner, progress.task.id)
            break
        except TransientError:
            crashes += 1
    assert crashes > 5
    standby = (await world.generations())["standby"]
    assert await world.entries(standby) == {f"f{n:02}": {"email": str(n)} for n in range(12)}


class Fuse:
    """A way to the service that breaks after some calls, and stays broken for that run."""

    calls = 10**9

    async def carry(self, call: Call[T], store: Store) -> T:
        """The answer, or none."""
        self.calls -= 1
        if self.calls == 0:
            raise StorageUnavailableError("It is down: try again.", outcome_unknown=False)
        return call.perform(store)


async def test_a_retired_generation_is_not_built(world: BuildingWorld) -> None:
    """The task ends, with its reason."""
    worker = await world.worker(TOWNS)
    await world.write(worker, "a", town="t", email="1")
    await world.worker(CHANGED)
    runner = world.runner()
    progress = await world.lifecycle(CHANGED, runner).build("by-town")
    world.seconds = progress.task.not_before
    await world.catalog.change(
        str(progress.task.about["generation"]), lambda generation: replace(generation, state="retired")
    )
    ended = await world.run(runner, progress.task.id)
    assert ended.task.state == "failed"
    assert "retired" in str(ended.task.problem)


async def test_a_build_older_than_the_ledgers_retention_is_refused(world: BuildingWorld) -> None:
    """What it would bring may be deleted and forgotten meanwhile."""
    worker = await world.worker(TOWNS)
    await world.write(worker, "a", town="t", email="1")
    await world.worker(CHANGED)
    runner = world.runner()
    progress = await world.lifecycle(CHANGED, runner).build("by-town")
    world.seconds += 10_001
    ended = await world.run(runner, progress.task.id)
    assert (ended.task.state, "retention" in str(ended.task.problem)) == ("failed", True)
    assert (await world.lifecycle(CHANGED, runner).build("by-town")).task.id != progress.task.id


def event(number: int, fact: str, seconds: float, **document: str) -> ReceivedEvent:
    """An upsert as a hub keeps it."""
    values = ", ".join(f'"{name}": "{value}"' for name, value in {"id": fact, "name": fact, **document}.items())
    body = f'{{"op": "upsert", "id": "{fact}", "partitionKey": "{fact}", "document": {{{values}}}}}'
    return ReceivedEvent(body.encode(), datetime.fromtimestamp(seconds, UTC), number)


async def test_a_hub_is_replayed_from_its_earliest_event(world: BuildingWorld) -> None:
    """Of each fact the newest version counts; facts that no event brings are counted as unbuilt."""
    changed = HUB.replace("phone", "email")
    worker = await world.worker(HUB)
    events = [event(n, f"f{n % 3}", world.seconds + n, town="t", phone="p", email=str(n)) for n in range(1, 8)]
    lost = event(0, "lost", world.seconds, town="t", phone="p", email="0")
    await worker.apply_events("people", [lost, *events])
    world.events.events = events
    await world.worker(changed)
    progress = await world.build(changed)
    assert progress.counts["facts"] == 7
    assert progress.counts["unbuilt"] == 1
    standby = (await world.generations())["standby"]
    assert await world.entries(standby) == {"f0": {"email": "6"}, "f1": {"email": "7"}, "f2": {"email": "5"}}
    listed = (await world.catalog.read()).generation(standby)
    assert listed is not None
    assert listed.unbuilt == 1


SHARED = """
version: 1
sources:
  people: {eventHub: shop, events: debezium}
  carts: {eventHub: shop, events: {when: type == 'cart', id: id, version: n, document: data}}
indexes:
  by-town: {source: people, partition: town, sort: name, project: [phone]}
"""


async def test_a_shared_hub_is_replayed_with_the_readers_of_the_trigger(world: BuildingWorld) -> None:
    """Events of the other source are ignored, and those that nobody knows have the dead letter that they had."""
    changed = SHARED.replace("phone", "email")
    row = {"id": "a", "town": "t", "name": "a", "phone": "1", "email": "2"}
    bodies: list[dict[str, Any]] = [
        {"op": "c", "after": row, "source": {"ts_ms": 1}},
        {"type": "cart", "id": "k", "n": 1, "data": {"owner": "a"}},
        {"type": "unknown"},
    ]
    now = datetime.fromtimestamp(world.seconds, UTC)
    events = [ReceivedEvent(json.dumps(body).encode(), now, number) for number, body in enumerate(bodies)]
    parts = await world.parts(SHARED)
    await parts.worker.apply_events("shop", events)
    world.events.events = events
    await world.worker(changed)
    world.definitions = definitions_of(changed)
    progress = await world.build(changed)
    assert (progress.counts["facts"], progress.counts["entries"], progress.counts["letters"]) == (3, 1, 1)
    (standby,) = [row.id for row in (await world.catalog.read()).of_index("by-town") if row.state == "standby"]
    assert await world.entries(standby) == {"a": {"email": "2"}}
    (dead_letter,) = (await parts.dead_letters.page(DeadLetterFilter(), 10, None)).dead_letters
    assert (dead_letter.source, dead_letter.kind) == ("people", "unreadable")


async def test_events_from_before_the_retention_are_refused(world: BuildingWorld) -> None:
    """Their facts may be deleted and forgotten."""
    await world.worker(HUB)
    changed = HUB.replace("phone", "email")
    worker = await world.worker(HUB)
    young = event(9, "young", world.seconds, town="t", email="1")
    await worker.apply_events("people", [ReceivedEvent(*young)])
    world.events.events = [event(1, "old", world.seconds - 20_000, town="t", email="1"), young]
    await world.worker(changed)
    await world.build(changed)
    assert set(await world.entries((await world.generations())["standby"])) == {"young"}


async def test_an_event_that_a_build_cannot_read_can_be_replayed_as_an_event(world: BuildingWorld) -> None:
    """Its dead letter is the one that the trigger made, and stays one of an event."""
    changed = HUB.replace("phone", "email")
    parts = await world.parts(HUB)
    broken = ReceivedEvent(b"{", datetime.fromtimestamp(world.seconds, UTC), 2)
    good = event(1, "a", world.seconds, town="t", email="1")
    await parts.worker.apply_events("people", [good, broken])
    world.events.events = [good, broken]
    await world.worker(changed)
    await world.build(changed)
    (dead_letter,) = (await parts.dead_letters.page(DeadLetterFilter(), 10, None)).dead_letters
    assert dead_letter.via == "event"
    (replayed,) = await parts.dead_letters.replay([dead_letter])
    assert replayed.result == "stillFails"


async def test_facts_with_long_keys_in_any_script_are_caught_up_with(world: BuildingWorld) -> None:
    """What a slice is about to apply fits in its row, however JSON would spell it."""
    old = await world.worker(TOWNS)
    await world.write(old, "a", town="t", email="1")
    await world.worker(CHANGED)
    runner = world.runner()
    progress = await world.lifecycle(CHANGED, runner).build("by-town")
    world.seconds = progress.task.not_before
    await runner.work(progress.task.id, progress.slices[0].name)
    old._plans._read_at_seconds = world.seconds  # it believes that its view is new
    documents = [await world.put(f"{number}" + "漢" * 50, town="t", email="2") for number in range(1800)]
    await old.apply_latest("people", documents)
    progress = await world.run(runner, progress.task.id)
    assert (progress.task.state, progress.task.problem, progress.counts["behind"]) == ("done", None, 1800)


def test_the_smaller_the_budget_the_fewer_changes_are_applied_together() -> None:
    """A step must end before its claim does, or other workers begin the same step."""
    assert changes_per_apply(None, 5000) == 5000
    assert changes_per_apply(1000.0, 5000) == 5000
    assert changes_per_apply(10.0, 5000) == 200
    assert changes_per_apply(0.01, 5000) == 1


async def test_with_a_small_budget_little_is_done_in_one_step(world: BuildingWorld) -> None:
    """A page that takes longer than a function may run would be begun again and again, and never end."""
    worker = await world.worker(TOWNS)
    await worker.apply_latest("people", [await world.put(f"f{n}", town=f"t{n}", email="e") for n in range(50)])
    await world.worker(CHANGED)

    async def no_time(_seconds: float) -> None:
        return

    sources = BuildSources(KeptFeed(world.tables), KeptFacts(world.tables), world.events)
    builds = Builds(world.catalog, world.services(), sources, lambda: world.seconds, no_time)
    progress = await world.lifecycle(CHANGED, replace(world.runner(), kinds={"build": builds})).build("by-town", 1)
    (work_slice,) = progress.slices
    steps = [step.counts["facts"] async for step in builds.work_on_slice(progress, work_slice)]
    assert steps == [20, 20, 10]


async def test_a_worker_that_learns_late_still_has_its_batch_in_the_new_generation(world: BuildingWorld) -> None:
    """Between entering and the build's start every worker reads the catalog again."""
    old = await world.worker(TOWNS)
    await world.write(old, "a", town="t", email="1")
    await world.worker(CHANGED)
    await world.write(old, "b", town="t", email="1")
    building = (await world.generations())["building"]
    assert await world.entries(building) == {}
    world.seconds += REFRESH_SECONDS
    await world.write(old, "c", town="t", email="1")
    assert set(await world.entries(building)) == {"c"}


async def test_the_ledger_is_read_by_points_where_its_rows_are_many(world: BuildingWorld) -> None:
    """A page of a thousand neighbours that finds next to nothing is not read again and again."""
    worker = await world.worker(TOWNS)
    documents = [await world.put(f"f{number}", town="t", phone="1", email="e") for number in range(400)]
    await worker.apply_latest("people", documents)
    for number in range(5, 400):
        await world.remove(f"f{number}")
    await world.worker(CHANGED)
    assert isinstance(world.tables, MemoryTables)
    before = world.tables.counts.by_table_and_kind()[LEDGER_TABLE, "query"]
    progress = await world.build(CHANGED)
    queries = world.tables.counts.by_table_and_kind()[LEDGER_TABLE, "query"] - before
    assert progress.counts["facts"] == 5
    assert queries <= 5 + 16  # one for each bucket of a fact, and those of the catch-up
