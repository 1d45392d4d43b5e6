"""How much memory a process needs at its peak that applies a backlog, against the obvious way with the SDK."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bench.case import Case
from bench.children import Child
from bench.measurement import Gauge
from bench.processes import azurite_serving
from bench.rivals import OBVIOUS, PIPELINE

if TYPE_CHECKING:
    from bench.measurement import Measurement
    from bench.meter import Meter

NAME = "memory"
FACTS = 2_000
# Its memory does not grow with the number of facts.
OBVIOUS_FACTS = 60
ROUNDS_MAX = 3
TOLERANCE = 0.25

_PROGRAM = """
import asyncio
from bench.rivals import Scenario, Storage, connected, {case}
from bench.facts import customers
async def work():
    async with connected({connection!r}) as storage:
        case = {case}(storage, Scenario("bulk load", customers), {count})
        await case.prepare()
        await case.run()
asyncio.run(work())
"""


async def measure(meter: Meter) -> list[Measurement]:
    """Bulk load into three indexes, each round in a fresh process."""
    count, few = meter.scaled(FACTS), meter.scaled(OBVIOUS_FACTS)
    async with azurite_serving() as connection:
        ours = Child(_PROGRAM.format(case="pipeline_case", connection=connection, count=count), count)
        theirs = Child(_PROGRAM.format(case="obvious_case", connection=connection, count=few), few)
        measured = await meter.at_most(ROUNDS_MAX).compare(
            "bulk load, with the start of the process",
            unit="fact",
            subject=Case(PIPELINE, count, ours.run),
            yardsticks=[Case(OBVIOUS, few, theirs.run)],
        )
        return [replace(measured, gauges=(_peak(PIPELINE, ours), _peak(OBVIOUS, theirs)))]


def _peak(name: str, child: Child) -> Gauge:
    return Gauge(f"peak memory of {name}", "MB", child.peak_bytes / 1e6, tolerance=TOLERANCE)
