"""The one table of the page, for a stranger: what, how much, compared to what, and whether the bar is reached.

`table.py` has every case with its spreads; this has one row for each measurement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.formats import aligned, number, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.measure.measurement import Gauge, Measurement, Ratio, Verdict
    from bench.measure.result import Result

HEADINGS = ("what", "how much", "CPU", "storage transactions", "compared to what", "bar")
# Below this, "so many times as fast" reads better than a fraction.
_MUCH_FASTER = 0.8


def markdown(result: Result) -> str:
    """The table, and how to read it."""
    rows = [
        _row(name, measurement) for name, workload in result.workloads.items() for measurement in workload.measurements
    ]
    return "\n".join([*aligned([HEADINGS, *rows]), "", legend(result)]) + "\n"


def missed(result: Result) -> list[str]:
    """Every bar that is not reached, in one line each."""
    return [
        f"{name}, {measurement.name}: {bar}"
        for name, workload in result.workloads.items()
        for measurement in workload.measurements
        for bar, reached in bars(measurement)
        if not reached
    ]


def _row(workload: str, measurement: Measurement) -> tuple[str, ...]:
    much = how_much(measurement)
    cpu = seconds(measurement.subject.seconds.cpu.median) if measurement.is_compared else ""
    verdicts = "; ".join(f"{bar}: {'reached' if reached else 'NOT reached'}" for bar, reached in bars(measurement))
    return f"{workload}: {measurement.name}", much, cpu, transactions(measurement), _compared(measurement), verdicts


def how_much(measurement: Measurement) -> str:
    """The time of one operation; or its gauges, which say what the time of the run does not."""
    per_operation = f"{seconds(measurement.subject.seconds.wall.median)} per {measurement.unit}"
    return "; ".join(map(_gauge, measurement.gauges)) or per_operation


def transactions(measurement: Measurement) -> str:
    """Storage transactions per operation."""
    sent = measurement.subject.counts.get("transactions")
    return "" if sent is None else f"{number(sent / measurement.subject.operations)} per {measurement.unit}"


def _compared(measurement: Measurement) -> str:
    if not measurement.is_compared and measurement.gauges:
        return ""
    return "; ".join(map(comparison, measurement.ratios))


def comparison(ratio: Ratio) -> str:
    """A ratio in words."""
    times = ratio.times.wall.median
    if times < _MUCH_FASTER:
        return f"{number(1 / times)} times as fast as {ratio.against}"
    return f"{number(times)} times as long as {ratio.against}"


def _gauge(gauge: Gauge) -> str:
    return f"{gauge.name} {number(gauge.value)} {gauge.unit}"


def bars(measurement: Measurement) -> Iterator[tuple[str, bool]]:
    """Every bar in words, and whether it is reached."""
    for verdict in measurement.verdicts:
        yield _bar(verdict), verdict.reached
    for gauge in measurement.gauges:
        if gauge.at_most is not None and gauge.reached is not None:
            yield f"{gauge.name} ≤ {number(gauge.at_most)} {gauge.unit}", gauge.reached


def _bar(verdict: Verdict) -> str:
    bar = verdict.bar
    clock = "CPU" if bar.clock == "cpu" else "time"
    if bar.against is None:
        return f"{clock} ≤ {seconds(bar.at_most)}"
    if bar.at_most < _MUCH_FASTER:
        return f"{clock}: ≥ {number(1 / bar.at_most)} times as fast as {bar.against}"
    return f"{clock}: ≤ {number(bar.at_most)} times as long as {bar.against}"


def legend(result: Result) -> str:
    """How to read the results."""
    rounds = "one round" if result.rounds == 1 else f"up to {result.rounds} rounds"
    return (
        f"Medians of {rounds} in which both sides took turns, {result.date}, Python "
        f"{result.python}, {result.cpu_count} processors, Azurite as storage. Seconds belong to that machine; ratios "
        "and storage transactions travel. CPU is that of the measuring process."
    )
