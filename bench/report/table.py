"""Every case of a result with its spreads, as a Markdown table: `bench run --format details`.

One row per case: the subject in bold, then its yardsticks, each with how the subject compares to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.formats import aligned, number, seconds, time_unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.measure.measurement import Bar, Counts, Measurement, Ratio, Timing, Verdict
    from bench.measure.result import Result
    from bench.measure.spread import Spread

HEADINGS = (
    "workload", "measured", "time each", "CPU each", "subject ÷ this, time", "subject ÷ this, CPU",
    "counts per round", "bar",
)  # fmt: skip
# More than these are for programs to read.
COUNTS_MAX = 4


def markdown(result: Result) -> str:
    """The table, and how to read it."""
    rows = [
        row
        for name, workload in result.workloads.items()
        for measurement in workload.measurements
        for row in _rows(name, measurement)
    ]
    lines = [*aligned([HEADINGS, *rows]), "", _legend(result), ""]
    lines += [f"- `{name}`: {workload.sentence}" for name, workload in result.workloads.items()]
    return "\n".join(lines) + "\n"


def bar_text(bar: Bar) -> str:
    """What the bar asks for."""
    clock = "CPU" if bar.clock == "cpu" else "time"
    if bar.against is None:
        return f"{clock} ≤ {seconds(bar.at_most)}"
    return f"{clock} ≤ {number(bar.at_most)} times {bar.against}"


def _legend(result: Result) -> str:
    rounds = "1 round" if result.rounds == 1 else f"{result.rounds} rounds"
    return (
        f"Medians of {rounds} (in brackets the middle half of the rounds), {result.date}, Python "
        f"{result.python}, {result.cpu_count} processors, scale {number(result.scale)}. The subject "
        "is in bold; the rows below it are its yardsticks, which took turns with it in the same run. "
        "A ratio below 1 means that the subject is cheaper. CPU is that of the measuring process alone."
    )


def _rows(workload: str, measurement: Measurement) -> Iterator[tuple[str, ...]]:
    subject, unit, verdicts = measurement.subject, measurement.unit, measurement.verdicts
    title = f"**{subject.name}** ({measurement.name})"
    yield workload, title, *_costs(subject, unit), "", "", _counts(subject.counts), _bars(verdicts, None)
    for yardstick in measurement.yardsticks:
        ratios = _ratios(measurement.ratio(yardstick.name))
        bars = _bars(verdicts, yardstick.name)
        yield "", yardstick.name, *_costs(yardstick, unit), *ratios, _counts(yardstick.counts), bars


def _costs(timing: Timing, operation: str) -> tuple[str, str]:
    wall, cpu = timing.seconds.wall, timing.seconds.cpu
    size, unit = time_unit(wall.median)
    between = f"({number(wall.low / size)} to {number(wall.high / size)})"
    return f"{number(wall.median / size)} {unit} {between} per {operation}", seconds(cpu.median)


def _ratios(ratio: Ratio | None) -> tuple[str, str]:
    return (_ratio(ratio.times.wall), _ratio(ratio.times.cpu)) if ratio else ("", "")


def _ratio(times: Spread) -> str:
    return f"{number(times.median)} ({number(times.low)} to {number(times.high)})"


def _counts(counts: Counts) -> str:
    if len(counts) > COUNTS_MAX:
        return f"{len(counts)} counts, see the result"
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _bars(verdicts: Sequence[Verdict], against: str | None) -> str:
    return ", ".join(
        f"{bar_text(verdict.bar)}: {'reached' if verdict.reached else 'not reached'}"
        for verdict in verdicts
        if verdict.bar.against == against
    )
