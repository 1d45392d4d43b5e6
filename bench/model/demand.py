"""What a change asks of storage, by the size of its batch: read from a measured run, never typed in."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from bench.errors import BenchUsageError
from bench.workloads.transactions import BATCHES, INSERT, NAME, SCATTERED, count_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.measure.measurement import Counts, Measurement
    from bench.measure.result import Result

# A stream of changes to a large set of facts, most of which no cache holds.
MIX: dict[str, float] = {
    "insert": 0.10,
    "update in place": 0.70,
    "key change": 0.10,
    "delete": 0.05,
    "redelivery": 0.05,
}
# The definitions of the measured run.
MEASURED_INDEXES = 3
_BULK = ("apply", "bulk load into 3 indexes")
_CALL = ("lookup", "point")


@dataclass(frozen=True, slots=True)
class Demand:
    """Of one change, on average. The ledger has one home; entries are spread over accounts."""

    ledger_transactions: float
    ledger_entities: float
    entry_transactions: float
    entry_entities: float
    sweep_transactions: float
    sweep_messages: float

    @property
    def transactions(self) -> float:
        """Everything that is on the Table service's bill, also what the sweep does later."""
        return self.ledger_transactions + self.entry_transactions + self.sweep_transactions


@dataclass(frozen=True, slots=True)
class Demands:
    """The demand at every batch size, the bytes of a fact's rows, and the CPU of a change."""

    by_batch: Mapping[int, Demand]
    ledger_bytes: float
    entry_bytes: float
    cpu_seconds: float
    # Of one call over HTTP.
    cpu_seconds_per_call: float = 0.0

    def instance_seconds(self, calls: float, changes: float) -> float:
        """The CPU of so many calls for so many changes."""
        return calls * self.cpu_seconds_per_call + changes * self.cpu_seconds

    def at(self, batch: float) -> Demand:
        """Between two measured sizes, in proportion to the logarithm of the size."""
        sizes = sorted(self.by_batch)
        size = min(max(batch, sizes[0]), sizes[-1])
        below = max(each for each in sizes if each <= size)
        above = min(each for each in sizes if each >= size)
        share = 0.0 if below == above else math.log(size / below) / math.log(above / below)
        return _weighted([(self.by_batch[below], 1 - share), (self.by_batch[above], share)])


def read_demands(result: Result, keys: str = SCATTERED, indexes: int = MEASURED_INDEXES) -> Demands:
    """The average over the mix; entries scale with the number of indexes, claims do not."""
    kinds = {measurement.name: measurement for measurement in _measurements(result, NAME)}
    bulk = {measurement.name: measurement for measurement in _measurements(result, _BULK[0])}[_BULK[1]]
    inserted = _counts(kinds[INSERT.name], keys)
    facts = inserted[count_name("facts", BATCHES[-1])]
    per_index = indexes / MEASURED_INDEXES
    return Demands(
        {batch: _mixed(kinds, keys, batch, per_index) for batch in BATCHES},
        inserted[count_name("ledger bytes", BATCHES[-1])] / facts,
        inserted[count_name("entry bytes", BATCHES[-1])] / facts * per_index,
        bulk.subject.seconds.cpu.median * per_index,
        _cpu_seconds_per_call(result),
    )


def _cpu_seconds_per_call(result: Result) -> float:
    """Of a call that does as little as a call can; the bulk load has hardly any per change."""
    if _CALL[0] not in result.workloads:
        return 0.0
    return result.measurement(*_CALL).yardsticks[0].seconds.cpu.median


def _measurements(result: Result, workload: str) -> tuple[Measurement, ...]:
    try:
        return result.workloads[workload].measurements
    except KeyError:
        raise BenchUsageError(
            f"The result of {result.date} has no workload '{workload}', which scale is computed from: "
            f"run `python -m bench run {NAME} {_BULK[0]}`, or give another --result."
        ) from None


def _mixed(kinds: Mapping[str, Measurement], keys: str, batch: int, per_index: float) -> Demand:
    return _weighted([(_demand(_counts(kinds[kind], keys), batch, per_index), share) for kind, share in MIX.items()])


def _counts(measurement: Measurement, keys: str) -> Counts:
    return next(each.counts for each in (measurement.subject, *measurement.yardsticks) if each.name == keys)


def _demand(counts: Counts, batch: int, per_index: float) -> Demand:
    def per_change(what: str) -> float:
        return counts[count_name(what, batch)] / counts[count_name("facts", batch)]

    return Demand(
        per_change("ledger transactions"),
        per_change("ledger entities"),
        per_change("entry transactions") * per_index,
        per_change("entry entities") * per_index,
        per_change("sweep transactions") * per_index,
        per_change("sweep messages"),
    )


def _weighted(parts: list[tuple[Demand, float]]) -> Demand:
    return Demand(*(sum(getattr(demand, each.name) * share for demand, share in parts) for each in fields(Demand)))
