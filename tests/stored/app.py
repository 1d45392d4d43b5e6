"""The app whose data is stored: everything that it needs from `shared`, on storage in memory and with a clock."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from shared.app.parts import Parts
from shared.app.settings import DEAD_LETTER_CONTAINER, SWEEP_QUEUE, TASK_QUEUE
from shared.catalog.rows import GenerationPhase as GenerationState
from shared.definitions.identity import generation_id, table_name
from shared.definitions.loading.load import load
from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.changes.event_changes import EventReader
from shared.entries.changes.received_event import ReceivedEvent
from shared.entries.keys.fact_key import MISSING, encode_fact_key, fact_hash
from shared.entries.rows.columns import EXPIRES, FACT, KEY, REFERENCE, REST
from shared.errors import FailureKind
from shared.inputs.page_tokens import PageTokens
from shared.lifecycle.build import Builds, BuildSources
from shared.lookup.generations import CatalogGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.monitoring.counter_rows import InstanceRow, fold_idle, read_totals
from shared.monitoring.counters import SOURCE_COUNTS, Counters, Purpose
from shared.monitoring.counters import CountedKind as CounterKind
from shared.monitoring.lag_history import LagHistory
from shared.pipeline.apply.worker import Worker
from shared.pipeline.cleanup.messages import from_message, to_messages
from shared.pipeline.dead_letters.listing import DeadLetterFilter
from shared.pipeline.dead_letters.rows import ArrivedBy, dead_letter_id
from shared.pipeline.ledger.rows import decode as decode_ledger_row
from shared.pipeline.ledger.rows import encode as encode_ledger_row
from shared.pipeline.ledger.rows import ledger_partition
from shared.sources.hub_events import EVENT_CONSUMER_GROUP, EVENT_LAG_GROUP, REPLAY_CONSUMER_GROUP
from shared.sources.trigger_leases import LEASE_CONTAINER, trigger_prefix
from shared.tables.accounts import Accounts
from shared.tables.counts import Counts
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import Continuation, Delete, Upsert
from shared.tables.retry import Timing
from shared.tasks.bookmarks import Bookmark, Bookmarks
from shared.tasks.rows import Slice, Task, TaskRows, TaskState
from shared.tasks.runner import TaskRunner
from shared.verification.assembly import VerificationDependencies
from shared.verification.confirm import GracePeriod
from shared.verification.differences import DifferenceKind
from shared.verification.rows import VerificationRows
from shared.verification.service import VerificationService
from shared.verification.task import Verifications
from shared.verification.verify import ScanPhase as VerificationPhase
from tests.worlds.building import REFRESH_SECONDS, BuildingWorld, KeptFeed
from tests.worlds.kept_facts import FACT_TABLE, KeptFacts, kept_key, stored
from tests.worlds.verifying import iter_chance, report_nothing
from tests.worlds.world import KeptBlobs, definitions_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.pipeline.apply.services import Services
    from shared.pipeline.dead_letters.replay import Replayed
    from shared.pipeline.dead_letters.rows import StoredDeadLetter
    from shared.tasks.rows import Progress
    from shared.tasks.runner import TaskKind

__all__ = [
    "DEAD_LETTER_CONTAINER",
    "EVENT_CONSUMER_GROUP",
    "EVENT_LAG_GROUP",
    "EXPIRES",
    "FACT",
    "KEY",
    "LEASE_CONTAINER",
    "MISSING",
    "REFERENCE",
    "REPLAY_CONSUMER_GROUP",
    "REST",
    "SOURCE_COUNTS",
    "SWEEP_QUEUE",
    "TASK_QUEUE",
    "ArrivedBy",
    "Bookmark",
    "Bookmarks",
    "Continuation",
    "CosmosReader",
    "CounterKind",
    "DifferenceKind",
    "EventReader",
    "FailureKind",
    "GenerationState",
    "MemoryTables",
    "Parts",
    "Purpose",
    "ReceivedEvent",
    "Slice",
    "StoredApp",
    "Task",
    "TaskRows",
    "TaskState",
    "VerificationPhase",
    "Worker",
    "dead_letter_id",
    "decode_ledger_row",
    "definitions_of",
    "encode_fact_key",
    "encode_ledger_row",
    "fact_hash",
    "from_message",
    "generation_id",
    "ledger_partition",
    "load",
    "read_totals",
    "table_name",
    "to_messages",
    "trigger_prefix",
]

FIRST_ACCOUNT = "INDEX_STORAGE"
SECOND_ACCOUNT = "INDEX_2"
SECONDS_PER_DAY = 86_400


class TaskMessages:
    """A task queue in memory: each message with its delay."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, int]] = []

    async def send(self, message: str, delay_seconds: int = 0) -> None:
        self.messages.append((message, delay_seconds))


class StoredApp(BuildingWorld):
    """A world with two accounts, blobs, queues, verifications and counters; facts are kept apart from all that."""

    def __init__(self) -> None:
        self.first, self.second, self.container = MemoryTables(), MemoryTables(), MemoryTables()
        super().__init__(self.first, source="customers")
        self.accounts = Accounts({FIRST_ACCOUNT: self.first, SECOND_ACCOUNT: self.second})
        self.blobs = KeptBlobs()
        self.task_messages = TaskMessages()
        self.counters = Counters()

    # ------------------------------------------------------------------------------------------------ its parts

    def services(self) -> Services:
        """What a process is connected to."""
        return replace(super().services(), blobs=self.blobs, report=self.counters.batch_applied)

    async def unaware_worker(self, text: str) -> Worker:
        """A worker that never hears of what others enter: its clock stands still."""
        frozen = self.seconds
        services = replace(self.services(), now_seconds=lambda: frozen)
        return (await Parts(definitions_of(text), services).ready()).worker

    def runner(self, window: int = 5000, page_facts: int = 1000, slice_seconds: float = 240) -> TaskRunner:
        """Long work; with 0 seconds it is a step at a time."""
        sources = BuildSources(KeptFeed(self.container, page_facts), KeptFacts(self.container), self.events)
        builds = Builds(self.catalog, self.services(), sources, lambda: self.seconds, asyncio.sleep, window)
        ticks = count(0, 1000)
        dependencies = VerificationDependencies(
            self.services(),
            KeptFacts(self.container, page_facts),
            GracePeriod(0, 0, asyncio.sleep),
            iter_chance().__next__,
            lambda: float(next(ticks)),
            report_nothing,
        )
        verifications = Verifications(self.catalog, dependencies)
        kinds: dict[str, TaskKind] = {"build": builds, "verification": verifications}
        return TaskRunner(self.rows, self.task_messages, kinds, lambda: self.seconds, slice_seconds)

    def verification_service(self, text: str, runner: TaskRunner | None = None) -> VerificationService:
        """Where verifications are asked for."""
        rows = VerificationRows(self.tables)
        service_runner = runner or self.runner()
        return VerificationService(definitions_of(text), self.catalog, service_runner, rows, lambda: self.seconds)

    def lookups(self, text: str) -> Lookups:
        """Lookups of an app with these definitions."""
        timing = Timing(lambda: self.seconds, lambda: self.seconds, asyncio.sleep, lambda: 0.5)
        return Lookups(
            CatalogGenerations(definitions_of(text), [self.catalog], timing, REFRESH_SECONDS),
            Replicas(self.first),
            PageTokens(b"key"),
            placed={SECOND_ACCOUNT: Replicas(self.second)},
            facts=KeptFacts(self.container),
            now_seconds=lambda: self.seconds,
            answered=self.counters.lookup_answered,
        )

    # ------------------------------------------------------------------------------------------------ facts

    async def put(self, fact: str, **document: Any) -> dict[str, Any]:
        """Write a fact into its container; the document as the feed shows it."""
        self.writes += 1
        entity = stored(self.source, fact, document, self.writes)
        await self.container.create_table(FACT_TABLE)
        await self.container.transact(FACT_TABLE, [Upsert(entity)])
        shown: dict[str, Any] = json.loads(str(entity["document"]))
        return shown

    def hub_event(self, received: ReceivedEvent) -> ReceivedEvent:
        """An event as its hub keeps it."""
        return received

    async def remove(self, fact: str) -> None:
        """Delete a fact in its container."""
        await self.container.transact(FACT_TABLE, [Delete(self.source, kept_key(fact))])

    async def read_fact(self, fact: str) -> dict[str, Any]:
        """A fact as the feed shows it."""
        row = await self.container.get(FACT_TABLE, self.source, kept_key(fact))
        assert row is not None
        shown: dict[str, Any] = json.loads(str(row.entity["document"]))
        return shown

    # ------------------------------------------------------------------------------------------------ operations

    async def start_build(self, text: str, index: str, runner: TaskRunner | None = None) -> Progress:
        """Start a build, at the time from which every worker writes to its generation."""
        progress = await self.lifecycle(text, runner).build(index)
        self.seconds = max(self.seconds, progress.task.not_before)
        return progress

    async def verify(
        self, text: str, index: str, *, repairs: bool = False, sample: int | None = None
    ) -> Mapping[str, Any]:
        """Verify the generation of a definition from the start to the end; the report."""
        service = self.verification_service(text)
        found = await service.start(index, sample=sample, repairs=repairs)
        await self.run(self.runner(), found.task.id)
        return (await service.found(index, found.task.id)).report

    async def lose(self, table: str, entity: Mapping[str, object]) -> None:
        """Damage a table of the first account: take a row away."""
        await self.first.transact(table, [Delete(str(entity["PartitionKey"]), str(entity["RowKey"]))])

    async def dead_letters(self, parts: Parts) -> list[StoredDeadLetter]:
        """Every dead letter."""
        return (await parts.dead_letters.page(DeadLetterFilter(), 1000, None)).dead_letters

    async def replay(self, parts: Parts, identity: str) -> Replayed:
        """Replay one dead letter."""
        (replayed,) = await parts.dead_letters.replay([await parts.dead_letters.find(identity)])
        return replayed

    async def find(self, text: str, index: str, **asked: str) -> list[dict[str, Any]]:
        """The entries of a lookup, as they are answered, of all pages."""
        found: list[dict[str, Any]] = []
        parameters: dict[str, str] | None = asked
        lookups = self.lookups(text)
        while parameters is not None:
            page = await lookups.find(index, parameters)
            found += [dict(entry) for entry in page.entries]
            parameters = page.next_parameters
        return found

    async def write_status(self) -> None:
        """The counters of an instance that lives and of one that is gone, and some lag."""
        requests = Counts()
        requests.add("Ledger", "get")
        self.counters.watch("lookups", requests, SECOND_ACCOUNT)
        await InstanceRow(self.tables, "instance-1", lambda: self.seconds).write(self.counters.now())
        await fold_idle(self.tables, self.seconds + 2 * SECONDS_PER_DAY)
        await InstanceRow(self.tables, "instance-2", lambda: self.seconds).write(self.counters.now())
        history = LagHistory(self.tables)
        await history.add(int(self.seconds), {"customers": 0.5, "orders": None})

    async def lag_history(self) -> dict[str, list[tuple[int, float | None]]]:
        """The lag of every source over time."""
        return await LagHistory(self.tables).read()
