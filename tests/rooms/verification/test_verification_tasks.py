"""Verifications as long work: resumed by any worker, noted in the catalog, refused with a reason, run by a timer."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING

import pytest

from shared.entries.changes.received_event import ReceivedEvent
from shared.errors import LifecycleRefusedError, UnknownIndexError
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import Delete, Upsert
from shared.tasks.runner import TaskRunner
from shared.verification.assembly import VerificationDependencies
from shared.verification.confirm import GracePeriod
from shared.verification.rows import VerificationRows
from shared.verification.service import VerificationSchedule, VerificationService
from shared.verification.task import Verifications
from shared.web.api.verifications import IDENTITY
from tests.worlds.building import CHANGED, BuildingWorld
from tests.worlds.kept_facts import KeptFacts
from tests.worlds.verifying import iter_chance
from tests.worlds.world import TOWNS, definitions_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.catalog.rows import CatalogGeneration
    from shared.tables.port import Operation, Tables

FACTS = 40
EVENTS = """
version: 1
sources: {people: {eventHub: people, partitionKey: id}}
indexes: {by-town: {source: people, partition: town, sort: name, project: [phone]}}
"""


class VerifyingWorld(BuildingWorld):
    """A world with verifications; every stretch of one is a single page."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        self.reports: list[tuple[str, int | None, Mapping[str, object]]] = []

    def verifier(self, page_facts: int = 7) -> TaskRunner:
        """Works on verifications for one stretch at a time."""
        ticks = count(0, 1000)
        dependencies = VerificationDependencies(
            self.services(),
            KeptFacts(self.tables, page_facts),
            GracePeriod(0, 0, asyncio.sleep),
            iter_chance().__next__,
            lambda: float(next(ticks)),
            lambda *report: self.reports.append(report),
        )
        kind = Verifications(self.catalog, dependencies)
        return TaskRunner(self.rows, None, {"verification": kind}, lambda: self.seconds, slice_seconds=0)

    def service(self, text: str = TOWNS) -> VerificationService:
        """The app's, with these definitions."""
        rows = VerificationRows(self.tables)
        return VerificationService(definitions_of(text), self.catalog, self.verifier(), rows, lambda: self.seconds)

    async def serving(self) -> CatalogGeneration:
        """The generation that serves."""
        found = (await self.catalog.read()).serving("by-town", self.seconds)
        assert found is not None
        return found

    async def verify(self, *, repairs: bool = False) -> Mapping[str, object]:
        """Verify from the start to the end; the report."""
        found = await self.service().start("by-town", repairs=repairs)
        await self.run(self.verifier(), found.task.id)
        return (await self.service().found("by-town", found.task.id)).report


@pytest.fixture
async def world() -> VerifyingWorld:
    """An index with facts that serves."""
    world = VerifyingWorld(MemoryTables())
    worker = await world.worker(TOWNS)
    for number in range(FACTS):
        await world.write(worker, f"f{number}", town=f"t{number % 3}", phone="1")
    return world


async def damage(world: VerifyingWorld) -> None:
    """Take the first row of the table away."""
    table = (await world.serving()).table
    (row, *_) = (await world.tables.query(table, None)).rows
    await world.tables.transact(table, [Delete(str(row.entity["PartitionKey"]), str(row.entity["RowKey"]))])


async def refused(world: VerifyingWorld, code: str, text: str = TOWNS, **options: object) -> None:
    """The call is refused with this code, and nothing is started."""
    with pytest.raises(LifecycleRefusedError) as caught:
        await world.service(text).start("by-town", **options)  # type: ignore[arg-type]  # wrong on purpose
    assert caught.value.code == code
    assert await world.rows.all() == []


async def test_a_verification_of_many_stretches_counts_everything_once(world: VerifyingWorld) -> None:
    """Each of them by a new process that knows nothing but the rows; the catalog gets the result."""
    report = await world.verify()
    assert (report["facts"], report["ledgerRows"], report["rows"], report["total"]) == (FACTS, FACTS, FACTS, 0)
    verified = (await world.serving()).verified
    assert verified is not None
    assert verified.differences == 0


async def test_differences_are_noted_and_repaired(world: VerifyingWorld) -> None:
    """A repair notes what it found; the verification after it finds nothing."""
    await damage(world)
    assert (await world.verify())["total"] == 1
    verified = (await world.serving()).verified
    assert verified is not None
    assert verified.differences == 1
    assert (await world.verify(repairs=True))["repaired"] == 1
    assert (await world.verify())["total"] == 0


async def test_facts_that_do_not_fit_are_counted_once_though_they_are_read_twice(world: VerifyingWorld) -> None:
    """In the report and in what the task says that it has done: a difference makes it read everything again."""
    await world.write(await world.worker(TOWNS), "odd", town=["no", "key"], phone="1")
    await damage(world)
    found = await world.service().start("by-town")
    await world.run(world.verifier(), found.task.id)
    report = (await world.service().found("by-town", found.task.id)).report
    progress = await world.rows.read(found.task.id)
    assert progress is not None
    assert (report["total"], report["deadLetters"], progress.counts["deadLetters"]) == (1, 1, 1)


async def test_a_table_that_somebody_deleted_is_made_and_filled_again(world: VerifyingWorld) -> None:
    """To a verification its rows are missing, as if they had been deleted one by one."""
    await world.tables.delete_table((await world.serving()).table)
    assert (await world.verify())["total"] == FACTS
    assert (await world.verify(repairs=True))["repaired"] == FACTS
    assert (await world.verify())["total"] == 0


async def test_a_worker_that_dies_between_its_writes_spoils_nothing(world: VerifyingWorld) -> None:
    """The state is written before the slice's row: the page is not summed up again."""
    found = await world.service().start("by-town")
    kind = world.verifier().kinds["verification"]
    progress = await world.rows.read(found.task.id)
    assert progress is not None
    (work_slice,) = progress.slices
    for _ in range(3):
        async for _step in kind.work_on_slice(progress, work_slice):
            break  # dies here, every time: the state is written, the slice's row is not
    await world.run(world.verifier(), found.task.id)
    report = (await world.service().found("by-town", found.task.id)).report
    assert (report["facts"], report["rows"], report["examined"]) == (FACTS, FACTS, 0)


async def test_a_sample_that_was_done_and_not_noted_is_not_taken_twice(world: VerifyingWorld) -> None:
    """Its report was written, then its worker died: the next worker adds nothing to it."""
    await damage(world)
    found = await world.service().start("by-town", sample=FACTS)
    progress = await world.rows.read(found.task.id)
    assert progress is not None
    (kind,), (work_slice,) = world.verifier().kinds.values(), progress.slices
    assert [step.is_done async for step in kind.work_on_slice(progress, work_slice)] == [True]
    first = (await world.service().found("by-town", found.task.id)).report
    await world.run(world.verifier(), found.task.id)
    assert first["total"] == 1
    assert (await world.service().found("by-town", found.task.id)).report == first


async def test_a_worker_that_was_overtaken_stops(world: VerifyingWorld) -> None:
    """Two workers on one verification: one goes on, and nothing is counted twice."""
    found = await world.service().start("by-town")
    progress = await world.rows.read(found.task.id)
    assert progress is not None
    (work_slice,) = progress.slices
    first, second = (world.verifier().kinds["verification"].work_on_slice(progress, work_slice) for _ in range(2))
    await anext(first)
    await anext(second)
    assert [step async for step in first] == []
    await world.run(world.verifier(), found.task.id)
    report = (await world.service().found("by-town", found.task.id)).report
    assert (report["facts"], report["rows"], report["total"]) == (FACTS, FACTS, 0)


async def test_the_end_of_a_verification_is_reported(world: VerifyingWorld) -> None:
    """Once, with the index, the sample, and what was found."""
    report = await world.verify()
    assert world.reports == [("by-town", None, report)]


async def test_a_sample_does_not_count_as_verified(world: VerifyingWorld) -> None:
    """It proves nothing about the rest."""
    await damage(world)
    found = await world.service().start("by-town", sample=10_000)
    await world.run(world.verifier(), found.task.id)
    report = (await world.service().found("by-town", found.task.id)).report
    assert (report["ledgerRows"], report["total"]) == (FACTS, 1)
    assert (await world.serving()).verified is None


async def test_what_is_not_built_is_refused(world: VerifyingWorld) -> None:
    """Entries are missing from it, of course; the one that serves can be named."""
    await world.worker(CHANGED)
    await refused(world, "NotBuilt", CHANGED)
    serving = await world.serving()
    assert (await world.service(CHANGED).start("by-town", serving.id)).task.about["generation"] == serving.id


async def test_what_was_built_can_be_verified(world: VerifyingWorld) -> None:
    """The generation of the definition is meant, though another one serves."""
    await world.worker(CHANGED)
    await world.build(CHANGED)
    found = await world.service(CHANGED).start("by-town")
    await world.run(world.verifier(), found.task.id)
    assert found.task.about["generation"] != (await world.serving()).id
    assert (await world.service(CHANGED).found("by-town", found.task.id)).report["total"] == 0
    await world.lifecycle(CHANGED).switch("by-town")


async def test_what_cannot_be_verified_is_refused(world: VerifyingWorld) -> None:
    """Each with its reason."""
    await refused(world, "BadSample", sample=0)
    await refused(world, "BadSample", sample=10_001)
    await refused(world, "BadBudget", budget=0.5)
    await refused(world, "NothingToVerify", generation="none")
    with pytest.raises(UnknownIndexError):
        await world.service().start("nothing")
    with pytest.raises(LifecycleRefusedError, match="no verification"):
        await world.service().found("by-town", "verification-none")


async def test_a_verification_is_called_as_addresses_have_it(world: VerifyingWorld) -> None:
    """Also the second of one second: whatever is called otherwise, the API does not look for."""
    first = await world.service().start("by-town", sample=5)
    await world.run(world.verifier(), first.task.id)
    second = await world.service().start("by-town")
    assert all(re.fullmatch(IDENTITY, started.task.id) for started in (first, second))


async def test_one_verification_at_a_time(world: VerifyingWorld) -> None:
    """The refusal of the second names the first."""
    first = await world.service().start("by-town")
    with pytest.raises(LifecycleRefusedError, match=first.task.id):
        await world.service().start("by-town", sample=5)


async def test_a_verification_in_the_second_of_another_is_one_of_its_own(world: VerifyingWorld) -> None:
    """A new verification says what is found now, not what was found a moment ago."""
    first = await world.service().start("by-town", sample=5)
    await world.run(world.verifier(), first.task.id)
    await world.tables.transact(*(await an_entry_removed(world)))
    second = await world.service().start("by-town")
    await world.run(world.verifier(), second.task.id)
    assert (await world.service().found("by-town", first.task.id)).report["total"] == 0
    assert (await world.service().found("by-town", second.task.id)).report["total"] == 1


async def an_entry_removed(world: VerifyingWorld) -> tuple[str, list[Operation]]:
    """Damage to the first row of the table."""
    table = (await world.serving()).table
    row = (await world.tables.query(table, None, limit=1)).rows[0].entity
    return table, [Delete(str(row["PartitionKey"]), str(row["RowKey"]))]


def event(fact: str, sequence_number: int) -> ReceivedEvent:
    """A fact that arrives as an event."""
    document = {"id": fact, "town": "t", "name": fact, "phone": "1"}
    body = json.dumps({"op": "upsert", "id": fact, "partitionKey": fact, "document": document}).encode()
    return ReceivedEvent(body, datetime(2026, 1, 1, tzinfo=UTC), sequence_number)


async def test_a_source_without_a_container_is_compared_with_its_ledger() -> None:
    """Ghosts can be removed; what only an event could say stays unrepaired. There is nothing to reconcile with."""
    world = VerifyingWorld(MemoryTables())
    worker = await world.worker(EVENTS)
    await worker.apply_events("people", [event("a", 1), event("b", 2)])
    service = world.service(EVENTS)
    with pytest.raises(LifecycleRefusedError) as caught:
        await service.start("by-town", reconciles=True)
    assert caught.value.code == "CannotReconcile"
    found = await service.start("by-town")
    await world.run(world.verifier(), found.task.id)
    assert (await service.found("by-town", found.task.id)).report["total"] == 0
    await damage(world)
    table = (await world.serving()).table
    (row,) = (await world.tables.query(table, None)).rows
    ghost = {**row.entity, "PartitionKey": "elsewhere !"}
    await world.tables.transact(table, [Upsert(ghost)])
    world.seconds += 1
    found = await service.start("by-town", repairs=True)
    await world.run(world.verifier(), found.task.id)
    report = (await service.found("by-town", found.task.id)).report
    assert report["differences"] == {"missing": 1, "stale": 0, "ghost": 1, "unapplied": 0, "orphan": 0}
    assert (report["repaired"], report["unrepaired"]) == (1, 1)


async def test_the_routine_samples_and_after_days_verifies_everything(world: VerifyingWorld) -> None:
    """One at a time, and nothing at all when it is switched off."""
    schedule = VerificationSchedule(sample=5, full_days=7, budget=20)
    assert await world.service().start_due(VerificationSchedule(0, 0, 0)) == 0
    assert await world.service().start_due(schedule) == 1
    assert await world.service().start_due(schedule) == 0
    (task,) = await world.rows.all()
    assert task.about["sample"] == 5
    await world.run(world.verifier(), task.id)
    world.seconds += 7 * 86_400
    assert await world.service().start_due(schedule) == 1
    task = max(await world.rows.all(), key=lambda found: found.started_at)
    assert (task.about["sample"], task.about["budget"]) == (None, 20)
    await world.run(world.verifier(), task.id)
    world.seconds += 60
    assert await world.service().start_due(schedule) == 1
    task = max(await world.rows.all(), key=lambda found: found.started_at)
    assert task.about["sample"] == 5


async def test_what_was_found_is_forgotten_with_its_task(world: VerifyingWorld) -> None:
    """Tasks are forgotten a month after their end; the timer removes the rows that they leave."""
    await world.verify()
    rows = VerificationRows(world.tables)
    assert len(await rows.reports("by-town")) == 1
    await world.service().start_due(VerificationSchedule(0, 7, 0))
    assert len(await rows.reports("by-town")) == 1
    (task,) = await world.rows.all()
    await world.rows.forget(task)
    await world.service().start_due(VerificationSchedule(0, 7, 0))
    assert await rows.reports("by-town") == {}
