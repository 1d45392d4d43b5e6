"""What `make bench` prints: one group for each workload, in lines of 120 columns, with a verdict for each bar."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from bench.formats import seconds
from bench.report import summary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.measure.measurement import Measurement
    from bench.measure.result import Result

COLUMNS: Final = 120
_NAME, _VERDICT = 56, 13


def text(result: Result) -> str:
    """All groups, then how to read them."""
    lines: list[str] = []
    for name, workload in result.workloads.items():
        lines += [*textwrap.wrap(f"{name}: {workload.sentence}", COLUMNS, subsequent_indent="  ")]
        for measurement in workload.measurements:
            lines += _measurement(measurement)
        lines.append("")
    return "\n".join([*lines, *textwrap.wrap(summary.legend(result), COLUMNS)]) + "\n"


def _measurement(measurement: Measurement) -> Iterator[str]:
    cpu = f", CPU {seconds(measurement.subject.seconds.cpu.median)}" if measurement.is_compared else ""
    sent = summary.transactions(measurement)
    what = f"{summary.how_much(measurement)}{cpu}" + (f", transactions {sent}" if sent else "")
    yield from _wrapped(measurement.name.ljust(_NAME), what)
    for compared in map(summary.comparison, measurement.ratios):
        yield from _wrapped("".ljust(_VERDICT), compared)
    for bar, reached in summary.bars(measurement):
        yield from _wrapped(("reached" if reached else "NOT REACHED").ljust(_VERDICT), bar)


def _wrapped(head: str, rest: str) -> list[str]:
    start = f"  {head} "
    return textwrap.wrap(start + rest, COLUMNS, subsequent_indent=" " * min(len(start), 18))
