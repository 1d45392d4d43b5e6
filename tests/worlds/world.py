"""A pipeline for tests: definitions, changes made from short documents, and what a reader of the tables sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shared.catalog.rows import CATALOG_TABLE
from shared.definitions.loading.load import load
from shared.entries.changes.change import FactReader
from shared.entries.keys.index_keys import split_row_key
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.entries.keys.versions import ticks_clock
from shared.entries.projection.generations import SourcePlan, plan_of
from shared.entries.rows.entry_row import is_tombstone
from shared.pipeline.apply.services import Services, Times
from shared.pipeline.cleanup.expiry import Expirer, sweep_message
from shared.pipeline.cleanup.sweeper import Sweeper
from shared.pipeline.cleanup.swept_keys import SweptKeys
from shared.pipeline.concurrency import AtOnce, FairTurns, Staggered
from shared.pipeline.dead_letters.documents import StoredBlob
from shared.pipeline.dead_letters.open_limit import OpenLimit
from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE
from shared.pipeline.ledger.rows import LEDGER_TABLE, ledger_partition
from shared.tables.accounts import Accounts
from shared.tables.port import PARTITION_KEY, RowRange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from shared.definitions.model import Definitions
    from shared.entries.changes.change import Change
    from shared.pipeline.cleanup.messages import SweepQueue
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.dead_letters.documents import Blobs
    from shared.pipeline.ledger.rows import LedgerRow
    from shared.tables.port import Tables

TOWNS = """
version: 1
sources:
  people: {cosmos: {database: d, container: people}, partitionKey: id, deletes: {when: gone}}
indexes:
  by-town: {source: people, partition: town, sort: name, project: [phone]}
"""


def definitions_of(text: str) -> Definitions:
    """The definitions of a YAML text without faults."""
    return load(text, "indexes.yaml").require()


class KeptMessages:
    """A sweep queue in memory: what was sent, in order."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    async def send(self, message: str) -> None:
        self.messages.append(message)


class KeptBlobs:
    """Blobs in memory, all written at one time."""

    page_size = 2

    def __init__(self) -> None:
        self.written_at_seconds = 1_800_000_000.0
        self.contents: dict[str, bytes] = {}
        self._put = 0

    async def put(self, folder: str, content: bytes) -> str:
        self._put += 1
        name = f"{folder}/{self._put}"
        self.contents[name] = content
        return name

    async def get(self, name: str) -> bytes | None:
        return self.contents.get(name)

    async def delete(self, name: str) -> None:
        self.contents.pop(name, None)

    async def page(self, continuation: str | None) -> tuple[list[StoredBlob], str | None]:
        names = sorted(name for name in self.contents if name > (continuation or ""))
        page = [StoredBlob(name, self.written_at_seconds) for name in names[: self.page_size]]
        return page, page[-1].name if len(names) > self.page_size else None


def services_on(
    accounts: Accounts,
    now_seconds: Callable[[], float],
    *,
    queue: SweepQueue | None = None,
    blobs: Blobs | None = None,
    run_all: RunAll | None = None,
    times: Times | None = None,
    dead_letter_limit: OpenLimit | None = None,
) -> Services:
    """What a process is connected to; everything but the accounts is in memory."""
    return Services(
        accounts,
        blobs or KeptBlobs(),
        queue or KeptMessages(),
        run_all or AtOnce(),
        run_all or Staggered(),
        now_seconds,
        take_transactions=lambda: 0,
        report=lambda source, outcome: None,
        times=times or Times(),
        next_turn=FairTurns() if run_all is None else no_turn,
        dead_letter_limit=dead_letter_limit or OpenLimit(),
    )


async def no_turn() -> None:
    """`NextTurn` under a scheduler: between two facts no call is made, so nothing can happen there."""


async def nothing_listed(plan: SourcePlan, row: LedgerRow) -> bool:
    """For a retention beside which no sweep was lost."""
    return False


class Writer:
    """Makes changes of one source from documents; each call is a newer version unless it says which."""

    def __init__(self, definitions: Definitions, source: str) -> None:
        self._reader = FactReader(definitions.sources[source])
        self._clock = 0

    def change(self, fact: str, document: dict[str, Any] | None, version: int | None = None) -> Change:
        """One version of a fact; without a document it is a delete."""
        if version is None:
            self._clock += 1
            version = self._clock
        clock = ticks_clock(1_700_000_000 + version, version)
        assert clock is not None
        content = None if document is None else {"id": fact, **document}
        return self._reader.change(fact, (fact,), clock, content, source_etag=f"etag-{version}")


class World:
    """A worker on a Table service, and a reader of what it writes."""

    def __init__(
        self,
        tables: Tables,
        text: str = TOWNS,
        source: str = "people",
        *,
        dead_letter_limit: OpenLimit | None = None,
    ) -> None:
        self.tables = tables
        self.definitions = definitions_of(text)
        self.plan: SourcePlan = plan_of(self.definitions, source)
        self.writer = Writer(self.definitions, source)
        self.queue = KeptMessages()
        self.blobs = KeptBlobs()
        self.accounts = Accounts({DEFAULT_ACCOUNT: tables})
        self.now_seconds = 1_800_000_000.0
        self.dead_letter_limit = dead_letter_limit
        self.restart()

    def restart(self, run_all: RunAll | None = None) -> None:
        """A new worker process: nothing is cached."""
        services = services_on(
            self.accounts,
            lambda: self.now_seconds,
            queue=self.queue,
            blobs=self.blobs,
            run_all=run_all,
            dead_letter_limit=self.dead_letter_limit,
        )
        self.applier = services.new_applier()
        self.sweeper = Sweeper(self.accounts, services.run_all)
        self.expirer = Expirer(self.accounts, services.run_all, services.now_seconds)
        self.swept_keys = SweptKeys(self.accounts.main, self.queue, services.run_all)

    async def create_tables(self) -> None:
        """The tables that a start-up would create."""
        for table in (
            CATALOG_TABLE,
            LEDGER_TABLE,
            DEAD_LETTER_TABLE,
            *(generation.table for generation in self.plan.generations),
        ):
            await self.tables.create_table(table)

    async def apply(self, *changes: Change) -> None:
        """Apply one batch."""
        self.outcome = await self.applier.apply(self.plan, changes)

    async def sweep(self) -> None:
        """Deliver every sweep message that waits."""
        messages, self.queue.messages = self.queue.messages, []
        for message in messages:
            await sweep_message(message, [self.plan], self.sweeper, self.expirer, self.swept_keys)

    async def rows(self, index: str, *partitions: str) -> list[dict[str, Any]]:
        """The rows of an index's table in these (encoded) partitions, as stored."""
        table = next(generation.table for generation in self.plan.generations if generation.index.name == index)
        found: list[dict[str, Any]] = []
        for partition in partitions:
            continuation = None
            while True:
                page = await self.tables.query(table, RowRange(partition), continuation=continuation)
                found += [row.entity for row in page.rows]
                continuation = page.continuation
                if continuation is None:
                    break
        return found

    async def ledger_rows(self) -> list[dict[str, Any]]:
        """All ledger rows, as stored."""
        found: list[dict[str, Any]] = []
        for bucket in range(self.plan.buckets):
            partition = ledger_partition(self.plan.source, bucket, self.plan.buckets)
            page = await self.tables.query(LEDGER_TABLE, RowRange(partition))
            found += [row.entity for row in page.rows]
        return found


def visible(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a reader shows: the newest row of each entry key, no tombstones."""
    seen: set[tuple[str, str]] = set()
    shown = []
    for row in rows:
        entry_key, _ = split_row_key(row["RowKey"])
        if (row[PARTITION_KEY], entry_key) not in seen:
            seen.add((row[PARTITION_KEY], entry_key))
            if not is_tombstone(row):
                shown.append(row)
    return shown
