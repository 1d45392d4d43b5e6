"""Exactly how many storage transactions a change takes, by kind and batch size; in process, with 3 indexes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from bench.case import Case
from bench.facts import CUSTOMERS_YAML, customers, scattered
from bench.pipeline import Pipeline
from bench.tally import Tally
from shared.tables.memory import MemoryTables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.facts import Fact
    from bench.measurement import Measurement
    from bench.meter import Meter

    Facts = Callable[[int], Sequence[Fact]]

NAME = "transactions"
BATCHES = (1, 10, 100, 1_000)
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
KEYS: dict[str, Callable[..., Sequence[Fact]]] = {"shared keys": customers, "scattered keys": scattered}


async def measure(meter: Meter) -> list[Measurement]:
    """One measurement for each kind; the counts of its cases are per batch size. Time says little here."""
    once = meter.once()
    return [
        await once.compare(
            kind.name,
            unit="change",
            subject=_case(once, kind, "scattered keys"),
            yardsticks=[_case(once, kind, "shared keys")],
        )
        for kind in KINDS
    ]


def _case(meter: Meter, kind: Kind, keys: str) -> Case:
    sizes = {batch: meter.scaled(max(batch, FACTS_MIN)) for batch in BATCHES}

    async def run() -> dict[str, int]:
        counts: dict[str, int] = {}
        for batch, facts in sizes.items():
            measured = await _count(kind, KEYS[keys], facts, batch)
            counts |= {f"{name}, {batch} at a time": count for name, count in measured.items()}
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
