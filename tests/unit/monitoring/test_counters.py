"""Counters survive their instance and add up over all of them, for one small storage transaction twice a minute."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from shared.errors import StorageUnavailableError
from shared.monitoring.counter_flush import EVERY_SECONDS, FlushedCounters
from shared.monitoring.counter_rows import IDLE_SECONDS, STATUS_TABLE, InstanceRow, fold_idle, read_totals
from shared.monitoring.counters import Counters, Measure
from shared.pipeline.outcome import BatchOutcome
from shared.tables.counts import Counts
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.retry import Timing

if TYPE_CHECKING:
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store

T = TypeVar("T")

APPLIED = Measure("source", "people", "applied")


def outcome(applied: int) -> BatchOutcome:
    """A batch of so many changes, each of which wrote an entry."""
    batch = BatchOutcome(received=applied, applied=applied, transactions=2)
    batch.count_entries("by-town", applied, 0)
    return batch


class Clock:
    """A clock that only a test moves; sleeping moves it, too, after everybody else has had a turn."""

    def __init__(self) -> None:
        self.seconds = 1_800_000_000.0

    def now(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)
        self.seconds += seconds

    def timing(self) -> Timing:
        return Timing(self.now, self.now, self.sleep, lambda: 0.5)


class LosesOneAnswer:
    """Performs every call, but the caller of the next write never hears of it."""

    def __init__(self) -> None:
        self.loses = False

    async def carry(self, call: Call[T], store: Store) -> T:
        answer = call.perform(store)
        if self.loses and call.kind == "transact":
            self.loses = False
            raise StorageUnavailableError("The answer was lost.", outcome_unknown=True)
        return answer


async def test_counts_of_all_instances_add_up() -> None:
    """The totals have what every instance has written, since the first of them."""
    tables, clock = MemoryTables(), Clock()
    for instance, applied in (("a", 3), ("b", 4)):
        counters = Counters()
        counters.batch_applied("people", outcome(applied))
        counters.lookup_answered("by-town", rows_read=10, entries=6)
        await InstanceRow(tables, instance, clock.now).write(counters.now())
        clock.seconds += 60
    totals = await read_totals(tables)
    assert totals.of("source", "people")["applied"] == 7
    assert totals.of("source", "people")["transactions"] == 4
    entries = totals.of("index", "by-town")
    assert (entries["entries_written"], entries["lookups"], entries["rows_read"]) == (7, 2, 20)
    assert entries["never counted"] == 0
    assert (totals.since_seconds, totals.instances) == (1_800_000_000.0, 2)


async def test_storage_transactions_are_counted_by_table_account_and_purpose() -> None:
    """They are the clients' own counts, whatever sent them."""
    counters, sent = Counters(), Counts()
    elsewhere = Counts()
    counters.watch("lookups", sent)
    counters.watch("lookups", elsewhere, "INDEX_2")
    sent.add("bytown1", "query")
    sent.add("bytown1", "get")
    elsewhere.add("bytown1", "query")
    assert counters.now() == Counter(
        {
            Measure("table", "bytown1", "lookups"): 3,
            Measure("account", "INDEX_STORAGE", "lookups"): 2,
            Measure("account", "INDEX_2", "lookups"): 1,
        }
    )


async def test_a_write_whose_answer_was_lost_counts_once() -> None:
    """The row holds everything, so that writing it again changes nothing."""
    carrier = LosesOneAnswer()
    tables = MemoryTables(carrier=carrier)
    await tables.create_table(STATUS_TABLE)
    row = InstanceRow(tables, "a", Clock().now)
    for applied in (3, 5, 8):
        carrier.loses = applied == 5
        try:
            await row.write(Counter({APPLIED: applied}))
        except StorageUnavailableError:
            assert applied == 5
    assert (await read_totals(tables)).counts == {APPLIED: 8}


async def test_rows_of_instances_that_are_gone_become_one() -> None:
    """Nothing is lost or counted twice, also when one of them wakes up again."""
    tables, clock = MemoryTables(), Clock()
    rows = {name: InstanceRow(tables, name, clock.now) for name in "abc"}
    for row in rows.values():
        await row.write(Counter({APPLIED: 10}))
    clock.seconds += IDLE_SECONDS + 1
    await rows["c"].write(Counter({APPLIED: 11}))
    assert await fold_idle(tables, clock.seconds) == 2
    assert (await read_totals(tables)).counts == {APPLIED: 31}
    await rows["a"].write(Counter({APPLIED: 12}))
    totals = await read_totals(tables)
    assert (totals.counts, totals.instances) == ({APPLIED: 33}, 2)
    clock.seconds += IDLE_SECONDS + 1
    assert await fold_idle(tables, clock.seconds) == 2
    assert await fold_idle(tables, clock.seconds) == 0
    assert (await read_totals(tables)).counts == {APPLIED: 33}


async def test_before_anything_was_counted_there_is_nothing() -> None:
    """Not even a table."""
    totals = await read_totals(MemoryTables())
    assert (dict(totals.counts), totals.since_seconds, totals.instances) == ({}, None, 0)
    assert await fold_idle(MemoryTables(), 0) == 0


async def test_many_counts_are_one_transaction_every_half_minute() -> None:
    """However many batches there are; and the last of them is written without another one."""
    tables, clock = MemoryTables(), Clock()
    await tables.create_table(STATUS_TABLE)
    flushed = FlushedCounters(InstanceRow(tables, "a", clock.now), clock.timing())
    before = tables.counts.total()
    started = clock.seconds
    for _ in range(200):
        flushed.counters.batch_applied("people", outcome(1))
        await clock.sleep(1)
    assert tables.counts.total() - before <= (clock.seconds - started) / EVERY_SECONDS + 1
    while flushed.unwritten():
        await asyncio.sleep(0)
    assert (await read_totals(tables)).of("source", "people")["applied"] == 200


async def test_counts_wait_while_the_storage_is_down() -> None:
    """What could not be written is written with what is counted next."""
    carrier = LosesOneAnswer()
    tables, clock = MemoryTables(carrier=carrier), Clock()
    await tables.create_table(STATUS_TABLE)
    flushed = FlushedCounters(InstanceRow(tables, "a", clock.now), clock.timing())
    carrier.loses = True
    flushed.counters.batch_applied("people", outcome(1))
    while carrier.loses:
        await asyncio.sleep(0)
    assert flushed.unwritten()
    flushed.counters.batch_applied("people", outcome(2))
    while flushed.unwritten():
        await asyncio.sleep(0)
    assert (await read_totals(tables)).of("source", "people")["applied"] == 3


def test_requests_to_the_tables_of_periods_count_for_their_generation() -> None:
    """Also the lists of them: what an index costs is one number, and periods come and go."""
    base, counts, counters = "orders0123456789abcdef", Counts(), Counters()
    counters.watch("lookups", counts)
    for table in (base, f"{base}p20270101", f"{base}p20270201"):
        counts.add(table, "query")
    counts.add(f"{base}p", "list")
    counts.add("Ledger", "get")
    tables = {measure.name: count for measure, count in counters.now().items() if measure.kind == "table"}
    assert tables == {base: 4, "Ledger": 1}
