"""Exactly how many storage transactions a change takes, by kind and batch size; in process, with 3 indexes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from bench.cases.facts import CUSTOMERS_YAML, customers, scattered
from bench.cases.pipeline import Pipeline
from bench.cases.tally import Tally
from bench.measure.case import Case
from bench.measure.measurement import Gauge
from shared.tables.memory.memory_tables import MemoryTables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.cases.facts import Fact
    from bench.measure.measurement import Counts, Measurement
    from bench.measure.meter import Meter

    Facts = Callable[[int], Sequence[Fact]]

NAME = "transactions"
BATCHES = (1, 10, 100, 1_000)
SHARED, SCATTERED = "shared keys", "scattered keys"
# Enough for an average where batches are small.
FACTS_MIN = 100


class Kind(NamedTuple):
    """A kind of change: what comes before it, what it is, and whether the worker still knows the facts."""

    name: str
    version: int
    fields: dict[str, object]
    is_cached: bool = False

    def of(self, make: Callable[..., Sequence[Fact]]) -> Facts:
        """The changes of this kind, to facts that `make` makes."""
        return partial(make, version=self.version, **self.fields)


INSERT = Kind("insert", 0, {})
KINDS = (
    INSERT,
    Kind("update in place, fact cached", 1, {"phone": "+1 425 555 0199"}, is_cached=True),
    Kind("update in place", 1, {"phone": "+1 425 555 0199"}),
    Kind("key change", 1, {"town": "moved"}),
    Kind("delete", 1, {"isDeleted": True}),
    Kind("redelivery", 0, {}),
)
# In the largest batches: one read of each ledger row, and rows by ranges.
SHARED_AT_MOST = {"redelivery": 1.2}
KEYS: dict[str, Callable[..., Sequence[Fact]]] = {SHARED: customers, SCATTERED: scattered}


async def measure(meter: Meter) -> list[Measurement]:
    """One measurement for each kind; the counts of its cases are per batch size. Time says little here."""
    return [await _measure(meter.once(), kind) for kind in KINDS]


async def _measure(meter: Meter, kind: Kind) -> Measurement:
    measured = await meter.compare(
        kind.name,
        unit="change",
        subject=_case(meter, kind, SCATTERED),
        yardsticks=[_case(meter, kind, SHARED)],
    )
    return replace(measured, is_compared=False, gauges=_gauges(measured, SHARED_AT_MOST.get(kind.name)))


def _gauges(measured: Measurement, shared_at_most: float | None) -> tuple[Gauge, ...]:
    """What a reader wants to know of all the counts: the dearest case and the cheapest."""
    scattered_counts, shared_counts = measured.subject.counts, measured.yardsticks[0].counts
    alone, together = BATCHES[0], BATCHES[-1]
    return (
        Gauge("alone", "transactions", per_change(scattered_counts, alone)),
        Gauge(f"in batches of {together:,}, scattered", "transactions", per_change(scattered_counts, together)),
        Gauge(
            f"in batches of {together:,}, shared keys",
            "transactions",
            per_change(shared_counts, together),
            at_most=shared_at_most,
        ),
    )


def per_change(counts: Counts, batch: int) -> float:
    """Storage transactions of one change in batches of this size, without the sweep."""
    transactions = counts[count_name("ledger transactions", batch)] + counts[count_name("entry transactions", batch)]
    return transactions / counts[count_name("facts", batch)]


def count_name(what: str, batch: int) -> str:
    """The name of a count for one batch size."""
    return f"{what}, {batch} at a time"


def _case(meter: Meter, kind: Kind, keys: str) -> Case:
    sizes = {batch: meter.scaled(max(batch, FACTS_MIN)) for batch in BATCHES}

    async def run() -> dict[str, int]:
        counts: dict[str, int] = {}
        for batch, facts in sizes.items():
            measured = await _count(kind, KEYS[keys], facts, batch)
            counts |= {count_name(name, batch): count for name, count in measured.items()}
        return counts

    return Case(keys, sum(sizes.values()), run)


async def _count(kind: Kind, make: Callable[..., Sequence[Fact]], facts: int, batch: int) -> dict[str, int]:
    """What the changes ask of storage; what the sweep of their tombstones will ask later is counted, too."""
    tally = Tally()
    tables = MemoryTables(carrier=tally)
    pipeline = await _prepared(tables)
    if kind is not INSERT:
        await pipeline.apply(make(2 * facts))
        if not kind.is_cached:
            pipeline = await _prepared(tables)
            # Facts that are there teach the worker to read before it claims, as in a stream of updates.
            await pipeline.apply(kind.of(make)(2 * facts)[facts:])
    pipeline.queue.messages.clear()
    tally.take()
    await pipeline.apply(kind.of(make)(facts), batch)
    counts = {"facts": facts, **tally.take(), "sweep messages": len(pipeline.queue.messages)}
    await pipeline.sweep()
    swept = tally.take()
    return {**counts, "sweep transactions": swept["entry transactions"]}


async def _prepared(tables: MemoryTables) -> Pipeline:
    pipeline = Pipeline(CUSTOMERS_YAML, tables)
    await pipeline.prepare()
    return pipeline
