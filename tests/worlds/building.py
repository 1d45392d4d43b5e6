"""A world whose definitions change: a container of facts, workers of several deployments, builds, and a clock."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from shared.app.parts import Parts
from shared.catalog.catalog import Catalog
from shared.definitions.model import Definitions
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.lifecycle.build import Builds, BuildSources
from shared.lifecycle.generations import GenerationLifecycle, LifecycleTimes
from shared.pipeline.apply.services import Times
from shared.sources.cosmos_feed import FeedPage
from shared.sources.hub_events import EventPage
from shared.tables.accounts import Accounts
from shared.tables.port import Continuation, Delete, RowRange, Upsert
from shared.tasks.rows import TaskRows
from shared.tasks.runner import TaskRunner
from tests.worlds.kept_facts import FACT_TABLE, KeptFacts, kept_key, stored
from tests.worlds.world import TOWNS, KeptMessages, definitions_of, services_on, visible

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from shared.definitions.model import Source
    from shared.entries.changes.received_event import ReceivedEvent
    from shared.pipeline.apply.services import Services
    from shared.pipeline.apply.worker import Worker
    from shared.pipeline.concurrency import RunAll
    from shared.tables.port import Tables
    from shared.tasks.rows import Progress

REFRESH_SECONDS = 30
BUILD_DELAY_SECONDS = 100
GRACE_SECONDS = 1000
CHANGED = TOWNS.replace("project: [phone]", "project: [email]")


class KeptFeed:
    """The port `FactFeed` over the table of facts: one range, which shows what changed behind it no second time."""

    def __init__(self, tables: Tables, page_facts: int = 1000) -> None:
        self._tables = tables
        self._page_facts = page_facts

    async def ranges(self, source: Source) -> list[str]:
        """All facts are in one."""
        return ["all"]

    async def pages(
        self, source: Source, feed_range: str, continuation: str | None = None, page_items: int = 1000
    ) -> AsyncIterator[FeedPage]:
        """Facts in key order."""
        while True:
            after = None if continuation is None else Continuation(source.name, continuation)
            page = await self._tables.query(
                FACT_TABLE, RowRange(source.name), limit=min(page_items, self._page_facts), continuation=after
            )
            documents = [json.loads(str(row.entity["document"])) for row in page.rows]
            continuation = "" if page.continuation is None else str(page.continuation.row)
            if documents:
                yield FeedPage(documents, continuation)
            if page.continuation is None:
                return


class KeptEvents:
    """The port `EventReplay` over a list."""

    def __init__(self) -> None:
        self.events: list[ReceivedEvent] = []

    async def partitions(self, source: Source) -> list[str]:
        """One."""
        return ["0"]

    async def pages(
        self, source: Source, partition: str, continuation: str | None = None, page_events: int = 1000
    ) -> AsyncGenerator[EventPage, None]:
        """Two events at a time."""
        start = int(continuation or 0)
        for position in range(start, len(self.events), 2):
            yield EventPage(self.events[position : position + 2], str(min(position + 2, len(self.events))))


class BuildingWorld:
    """Everything around one storage account."""

    def __init__(self, tables: Tables, run_all: RunAll | None = None, source: str = "people") -> None:
        self.tables = tables
        self.source = source
        self.seconds = 1_800_000_000.0
        self.writes = 0
        self.accounts = Accounts({DEFAULT_ACCOUNT: tables})
        self.catalog = Catalog(tables)
        self.rows = TaskRows(tables)
        self.messages = KeptMessages()
        self.sweeps = KeptMessages()
        self.events = KeptEvents()
        # What builds know of sources that share a hub.
        self.definitions = Definitions()
        self._run_all = run_all

    def services(self) -> Services:
        """What a process is connected to."""
        times = Times(
            ledger_retention_seconds=10_000,
            refresh_seconds=REFRESH_SECONDS,
            build_delay_seconds=BUILD_DELAY_SECONDS,
        )
        return services_on(self.accounts, lambda: self.seconds, queue=self.sweeps, run_all=self._run_all, times=times)

    async def parts(self, text: str) -> Parts:
        """The parts of a process that starts with these definitions."""
        return await Parts(definitions_of(text), self.services()).ready()

    async def worker(self, text: str) -> Worker:
        """The worker of such a process."""
        return (await self.parts(text)).worker

    def runner(self, window: int = 5000, page_facts: int = 1000) -> TaskRunner:
        """Long work."""
        sources = BuildSources(KeptFeed(self.tables, page_facts), KeptFacts(self.tables), self.events)
        builds = Builds(
            self.catalog, self.services(), sources, lambda: self.seconds, asyncio.sleep, window, self.definitions
        )
        return TaskRunner(self.rows, None, {"build": builds}, lambda: self.seconds)

    def lifecycle(self, text: str, runner: TaskRunner | None = None) -> GenerationLifecycle:
        """The operations of an app with these definitions."""
        times = LifecycleTimes(lambda: self.seconds, REFRESH_SECONDS, BUILD_DELAY_SECONDS, GRACE_SECONDS)
        return GenerationLifecycle(definitions_of(text), self.catalog, runner or self.runner(), times)

    async def put(self, fact: str, **document: Any) -> dict[str, Any]:
        """Write a fact into its container; the document as the feed shows it."""
        self.writes += 1
        entity = stored(self.source, fact, {"name": fact, **document}, self.writes)
        await self.tables.create_table(FACT_TABLE)
        await self.tables.transact(FACT_TABLE, [Upsert(entity)])
        shown: dict[str, Any] = json.loads(str(entity["document"]))
        return shown

    async def remove(self, fact: str) -> None:
        """Delete a fact in its container, which the feed does not show."""
        await self.tables.transact(FACT_TABLE, [Delete(self.source, kept_key(fact))])

    async def write(self, worker: Worker, fact: str, **document: Any) -> None:
        """Write a fact and let a worker apply it."""
        await worker.apply_latest(self.source, [await self.put(fact, **document)])

    async def run(self, runner: TaskRunner, task: str) -> Progress:
        """Work on a task until it has ended."""
        for _ in range(100):
            progress = await self.rows.read(task)
            assert progress is not None
            if progress.task.state != "running":
                return progress
            for work_slice in progress.slices:
                await runner.work(task, work_slice.name)
        raise AssertionError(f"{task} does not end")

    async def build(self, text: str, runner: TaskRunner | None = None) -> Progress:
        """Build the only index from its start to its end."""
        runner = runner or self.runner()
        (name,) = definitions_of(text).indexes
        progress = await self.lifecycle(text, runner).build(name)
        self.seconds = max(self.seconds, progress.task.not_before)
        return await self.run(runner, progress.task.id)

    async def entries(self, generation: str) -> dict[str, dict[str, Any]]:
        """What a generation shows, by the fact's id: its projected columns."""
        listed = (await self.catalog.read()).generation(generation)
        assert listed is not None
        return {json.loads(row["_fact"])["id"]: _projected(row) for row in await self.shown(listed.table)}

    async def shown(self, table: str) -> list[dict[str, Any]]:
        """The rows of a table that a reader shows."""
        rows: list[dict[str, Any]] = []
        continuation = None
        while True:
            page = await self.tables.query(table, None, continuation=continuation)
            rows += [row.entity for row in page.rows]
            continuation = page.continuation
            if continuation is None:
                return visible(rows)

    async def generations(self) -> dict[str, str]:
        """The generations by state; of several the youngest."""
        generations = sorted((await self.catalog.read()).generations, key=lambda found: found.entered_at)
        return {generation.state: generation.id for generation in generations}


def _projected(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("PartitionKey", "RowKey", "_fact", "_key")}


async def built(world: BuildingWorld, text: str = CHANGED) -> None:
    """The changed definition, built and verified."""
    await world.build(text)
    await world.catalog.note_verified((await world.generations())["standby"], 0, world.seconds)
