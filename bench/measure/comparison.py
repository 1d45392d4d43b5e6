"""Holds a result against the baseline: what got worse, each in one sentence.

Seconds are never compared, because they belong to a machine; ratios and exact counts travel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from bench.errors import BenchUsageError
from bench.formats import number
from bench.measure.measurement import Clock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.measure.measurement import Gauge, Measurement, Ratio, Timing
    from bench.measure.result import Result
    from bench.measure.spread import Spread

DEFAULT_FLOOR = 0.15
# However noisy the two runs were, half as much again is a loss.
CEILING = 0.5


@dataclass(frozen=True, slots=True)
class Comparison:
    """What got worse, and what a reader should know besides."""

    compared: int
    regressions: tuple[str, ...]
    notes: tuple[str, ...]


def compare(baseline: Result, result: Result, floor: float = DEFAULT_FLOOR) -> Comparison:
    """Everything that the baseline has must be in the result, and be no worse there."""
    if baseline.scale != result.scale:
        raise BenchUsageError(
            f"The baseline was measured at scale {number(baseline.scale)} and the result at scale "
            f"{number(result.scale)}: run again with `--scale {number(baseline.scale)}`."
        )
    expected, found = _by_place(baseline), _by_place(result)
    regressions = [
        f"{place}: {fault}"
        for place, measurement in expected.items()
        for fault in _faults(measurement, found.get(place), floor)
    ]
    notes = [f"{place} is new: it has no baseline yet." for place in found if place not in expected]
    return Comparison(len(expected), tuple(regressions), (*_circumstances(baseline, result), *notes))


def tolerance(baseline: Spread, result: Spread, floor: float) -> float:
    """How much worse a ratio may be: the spread of both runs together, within the floor and the ceiling."""
    return max(floor, min(baseline.relative_width + result.relative_width, CEILING))


def _by_place(result: Result) -> dict[str, Measurement]:
    return {
        f"{name} / {measurement.name}": measurement
        for name, workload in result.workloads.items()
        for measurement in workload.measurements
    }


def _circumstances(baseline: Result, result: Result) -> Iterator[str]:
    if (baseline.python, baseline.cpu_count) != (result.python, result.cpu_count):
        yield (
            f"The baseline is from Python {baseline.python} on {baseline.cpu_count} processors, the result "
            f"from Python {result.python} on {result.cpu_count}: ratios may differ for that reason alone."
        )


def _faults(expected: Measurement, found: Measurement | None, floor: float) -> Iterator[str]:
    if found is None:
        yield "is in the baseline but was not measured."
        return
    timings = {timing.name: timing for timing in (found.subject, *found.yardsticks)}
    for timing in (expected.subject, *expected.yardsticks):
        yield from _count_faults(timing, timings.get(timing.name))
    for ratio in expected.ratios if expected.is_compared else ():
        now = found.ratio(ratio.against)
        if now is not None:
            yield from _ratio_faults(ratio, now, floor)
    for gauge in expected.gauges:
        yield from _gauge_faults(gauge, {each.name: each for each in found.gauges}.get(gauge.name))


def _count_faults(expected: Timing, found: Timing | None) -> Iterator[str]:
    if found is None:
        yield f"'{expected.name}' is in the baseline but was not measured."
        return
    if expected.operations != found.operations:
        yield f"'{expected.name}' does {found.operations} operations per round, not {expected.operations}."
    for name in sorted({*expected.counts, *found.counts}):
        before, now = expected.counts.get(name, "nothing"), found.counts.get(name, "nothing")
        if before != now:
            yield f"the count '{name}' of '{expected.name}' is {now}; the baseline has exactly {before}."


def _ratio_faults(expected: Ratio, found: Ratio, floor: float) -> Iterator[str]:
    clock: Clock
    for clock in get_args(Clock):
        before, now = expected.times.by(clock), found.times.by(clock)
        allowed = tolerance(before, now, floor)
        if now.median > before.median * (1 + allowed):
            yield (
                f"costs {number(now.median)} times '{expected.against}' in {clock} time; the baseline has "
                f"{number(before.median)} times, and up to {allowed:.0%} more is allowed."
            )


def _gauge_faults(expected: Gauge, found: Gauge | None) -> Iterator[str]:
    if found is None:
        yield f"'{expected.name}' is in the baseline but was not measured."
    elif expected.tolerance is not None and found.value > expected.value * (1 + expected.tolerance):
        yield (
            f"'{expected.name}' is {number(found.value)} {found.unit}; the baseline has {number(expected.value)} "
            f"{expected.unit}, and up to {expected.tolerance:.0%} more is allowed."
        )
