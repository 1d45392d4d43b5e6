"""Verification of a source whose facts come as events: what its hub still has, against the index."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from shared.entries.changes.received_event import ReceivedEvent
from shared.entries.keys.fact_key import encode_fact_key, fact_hash
from shared.pipeline.ledger.rows import LEDGER_TABLE, ledger_partition
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import Delete
from shared.tasks.runner import TaskRunner
from shared.verification.assembly import Hubs, VerificationDependencies
from shared.verification.confirm import GracePeriod
from shared.verification.rows import VerificationRows
from shared.verification.service import VerificationService
from shared.verification.task import Verifications
from tests.worlds.building import BuildingWorld
from tests.worlds.kept_facts import KeptFacts
from tests.worlds.verifying import iter_chance
from tests.worlds.world import definitions_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.pipeline.apply.worker import Worker

ARRIVAL = "version: 1\nsources: {people: {eventHub: hub, events: document}}\n"
DECLARED = (
    "version: 1\nsources: {people: {eventHub: hub, events: document, version: revision, deletes: {when: gone}}}\n"
)
INDEX = "indexes: {by-town: {source: people, partition: town, sort: name, project: [phone]}}"
LONG_AGO = 3600
GRACE_SECONDS = 300


class HubbedWorld(BuildingWorld):
    """An index over events, which its hub retains or has forgotten."""

    def __init__(self, text: str) -> None:
        super().__init__(MemoryTables())
        self.text = text + INDEX
        self.definitions = definitions_of(self.text)
        self.pauses = 0
        self.meanwhile: ReceivedEvent | None = None

    async def _pause(self, _seconds: float) -> None:
        """A worker goes on during the pause."""
        self.pauses += 1
        if self.meanwhile is not None:
            await (await self.started()).apply_events("hub", [self.meanwhile])

    async def started(self) -> Worker:
        """A worker whose index serves."""
        return await self.worker(self.text)

    def event(self, fact: str, age_seconds: float = LONG_AGO, **document: Any) -> ReceivedEvent:
        """The next event of the hub, which stays there."""
        number = len(self.events.events)
        enqueued = datetime.fromtimestamp(self.seconds - age_seconds, UTC) + timedelta(milliseconds=number)
        body = {"id": fact, "town": "Oslo", "name": fact, **document}
        event = ReceivedEvent(json.dumps(body).encode(), enqueued, number)
        self.events.events.append(event)
        return event

    def verifier(self) -> TaskRunner:
        """Works on verifications, with a new process for each stretch."""
        hubs = Hubs(self.events, self.definitions)
        dependencies = VerificationDependencies(
            self.services(),
            KeptFacts(self.tables),
            GracePeriod(GRACE_SECONDS, 2, self._pause),
            iter_chance().__next__,
            self._ticks().__next__,
            lambda *report: None,
            hubs,
        )
        kind = Verifications(self.catalog, dependencies)
        return TaskRunner(self.rows, None, {"verification": kind}, lambda: self.seconds, slice_seconds=0)

    @staticmethod
    def _ticks() -> Any:
        tick = 0.0
        while True:
            yield tick
            tick += 1000  # every stretch is a single page

    async def verify(self, *, repairs: bool = False) -> Mapping[str, Any]:
        """Verify from the start to the end; the report."""
        service = VerificationService(
            self.definitions, self.catalog, self.verifier(), VerificationRows(self.tables), lambda: self.seconds
        )
        found = await service.start("by-town", repairs=repairs)
        for _ in range(100):
            progress = await self.rows.read(found.task.id)
            assert progress is not None
            if progress.task.state != "running":
                assert progress.task.state == "done", progress.task.problem
                self.seconds += 1
                return (await service.found("by-town", found.task.id)).report
            await self.verifier().work(found.task.id, progress.slices[0].name)
        raise AssertionError("the verification does not end")

    async def forget_fact(self, fact: str) -> None:
        """Lose a fact as if its event had never been applied: its ledger row, and every row of the index."""
        key = encode_fact_key((), fact)
        buckets = (await self.catalog.read()).buckets_of("people")
        await self.tables.transact(LEDGER_TABLE, [Delete(ledger_partition("people", fact_hash(key), buckets), key)])
        (generation,) = (await self.catalog.read()).generations
        for row in (await self.tables.query(generation.table, None)).rows:
            if json.loads(str(row.entity["_fact"]))["id"] == fact:
                place = str(row.entity["PartitionKey"]), str(row.entity["RowKey"])
                await self.tables.transact(generation.table, [Delete(*place)])

    async def phones(self) -> dict[str, Any]:
        """What the index shows: the phone of each fact."""
        (generation,) = (await self.catalog.read()).generations
        return {fact: columns.get("phone") for fact, columns in (await self.entries(generation.id)).items()}


@pytest.fixture
async def world() -> HubbedWorld:
    """Five facts, one of which has changed twice, all applied and retained."""
    world = HubbedWorld(ARRIVAL)
    worker = await world.started()
    for fact in "abcdeaa":
        await worker.apply_events("hub", [world.event(fact, phone=str(len(world.events.events)))])
    return world


def differences(report: Mapping[str, Any]) -> dict[str, int]:
    """Those that there are."""
    return {kind: count for kind, count in report["differences"].items() if count}


async def test_an_index_that_has_all_that_its_hub_retains_is_right(world: HubbedWorld) -> None:
    """Every event was read, and every fact of the ledger is told of."""
    report = await world.verify()
    assert differences(report) == {}
    assert (report["events"], report["ledgerRows"], report.get("untold", 0)) == (7, 5, 0)
    assert world.pauses == 0


async def test_an_event_that_never_arrived_is_a_difference_once_for_each_fact(world: HubbedWorld) -> None:
    """However many of its events are missing; a repair applies the newest of them."""
    await world.forget_fact("a")
    await world.forget_fact("c")
    report = await world.verify()
    assert differences(report) == {"unapplied": 2}
    assert sorted(example["id"] for example in report["examples"]) == ["a", "c"]
    repaired = await world.verify(repairs=True)
    assert (differences(repaired), repaired["repaired"], repaired["unrepaired"]) == ({"unapplied": 2}, 2, 0)
    assert await world.phones() == {"a": "6", "b": "1", "c": "2", "d": "3", "e": "4"}
    assert differences(await world.verify()) == {}


async def test_facts_whose_events_are_gone_are_untold_and_no_difference(world: HubbedWorld) -> None:
    """The hub cannot say whether they are right, and the report says of how many."""
    del world.events.events[:4]
    report = await world.verify()
    assert differences(report) == {}
    assert (report["events"], report["untold"]) == (3, 3)
    world.events.events.clear()
    report = await world.verify()
    assert differences(report) == {}
    assert (report.get("events", 0), report["untold"]) == (0, 5)


async def test_a_young_event_is_on_its_way(world: HubbedWorld) -> None:
    """After the grace it is a difference."""
    world.event("f", age_seconds=GRACE_SECONDS / 2)
    report = await world.verify()
    assert (differences(report), report["behind"]) == ({}, 1)
    world.seconds += GRACE_SECONDS
    assert differences(await world.verify()) == {"unapplied": 1}


async def test_what_comes_after_the_beginning_is_left_to_the_next_verification(world: HubbedWorld) -> None:
    """A busy hub would keep the verification reading for ever."""
    for _ in range(10):
        world.event("f", age_seconds=-60)
    assert (await world.verify())["events"] == 8


async def test_an_entry_that_the_ledger_has_and_the_event_does_not_is_a_difference() -> None:
    """The same event, and other entries: the ledger was damaged, or an old version of the code wrote them."""
    world = HubbedWorld(DECLARED)
    worker = await world.started()
    await worker.apply_events("hub", [world.event("a", revision=1, phone="1")])
    world.events.events.clear()
    world.event("a", revision=1, phone="1", town="Bergen")
    # Two documents of one version are in the order of their digests: only the later one is missing.
    other = HubbedWorld(DECLARED)
    await (await other.started()).apply_events("hub", [other.event("a", revision=1, phone="1", town="Bergen")])
    other.events.events.clear()
    other.event("a", revision=1, phone="1")
    found = [differences(await each.verify()) for each in (world, other)]
    assert sorted(found, key=len) == [{}, {"unapplied": 1}]


async def test_shuffled_and_repeated_events_of_declared_versions_are_no_difference() -> None:
    """What is older than the ledger is past, whatever comes after it; what comes twice counts once."""
    world = HubbedWorld(DECLARED)
    worker = await world.started()
    events = [world.event(fact, revision=revision) for revision in (3, 1, 2) for fact in "abc"]
    events += [world.event("a", revision=4, gone=True), world.event("a", revision=4, gone=True)]
    await worker.apply_events("hub", events)
    del world.events.events[2]  # the last one that was known of c
    report = await world.verify()
    assert differences(report) == {}
    assert (report["events"], report["untold"]) == (10, 1)


async def test_a_delete_that_never_arrived_is_a_difference_that_a_repair_applies() -> None:
    """The event says that the fact is gone: there is no need to reconcile."""
    world = HubbedWorld(DECLARED)
    await (await world.started()).apply_events("hub", [world.event("a", revision=1), world.event("b", revision=1)])
    world.event("b", revision=2, gone=True)
    assert differences(await world.verify()) == {"unapplied": 1}
    assert (await world.verify(repairs=True))["repaired"] == 1
    assert set(await world.phones()) == {"a"}
    assert differences(await world.verify()) == {}


async def test_a_delete_of_a_forgotten_fact_is_no_difference() -> None:
    """The ledger forgets deleted facts; their entries are gone as they should be."""
    world = HubbedWorld(DECLARED)
    await (await world.started()).apply_events("hub", [world.event("a", revision=1)])
    world.event("b", revision=2, gone=True)
    report = await world.verify()
    assert (differences(report), report.get("untold", 0)) == ({}, 0)


async def test_events_from_before_the_retention_of_the_ledger_say_nothing(world: HubbedWorld) -> None:
    """Their facts may have been deleted and forgotten: a repair must not bring them back."""
    await world.forget_fact("b")
    world.seconds += world.services().times.ledger_retention_seconds
    report = await world.verify(repairs=True)
    assert (differences(report), report["untold"]) == ({}, 4)
    assert "b" not in await world.phones()


async def test_facts_that_do_not_fit_and_events_that_cannot_be_read_are_dead_letters(world: HubbedWorld) -> None:
    """A dead letter says more than a difference could."""
    worker = await world.started()
    unreadable = ReceivedEvent(b"{", datetime.fromtimestamp(world.seconds - LONG_AGO, UTC), 8)
    world.events.events.append(unreadable)
    await worker.apply_events("hub", [world.event("f", town=["no text"]), unreadable])
    report = await world.verify()
    assert (differences(report), report["deadLetters"]) == ({}, 1)


async def test_events_of_other_sources_of_the_hub_are_none_of_its_own() -> None:
    """As the trigger reads them."""
    shared = """
version: 1
sources:
  people: {eventHub: hub, events: {form: document, when: name}}
  things: {eventHub: hub, events: {form: document, when: weight}}
"""
    world = HubbedWorld(shared)
    worker = await world.started()
    await worker.apply_events("hub", [world.event("a"), world.event("t", name=None, weight=3)])
    report = await world.verify()
    assert (differences(report), report["events"], report["ledgerRows"]) == ({}, 2, 1)
    assert report.get("untold", 0) == 0


async def test_a_verification_beside_a_worker_finds_nothing(world: HubbedWorld) -> None:
    """What a worker applies between the two looks is no difference."""
    world.meanwhile = world.event("g")
    assert differences(await world.verify()) == {}
    assert world.pauses == 1
