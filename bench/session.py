"""One run over some workloads: each in an event loop of its own, so that none leaves tasks to the next."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
from typing import TYPE_CHECKING

from bench.errors import BenchError
from bench.result import Result, WorkloadResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.measurement import Measurement
    from bench.meter import Meter
    from bench.workload import Workload


def run(workloads: Mapping[str, Workload], meter: Meter, date: str) -> Result:
    """Measure `workloads` one after the other."""
    return Result(
        date=date,
        python=platform.python_version(),
        cpu_count=os.cpu_count() or 1,
        rounds=meter.rounds,
        scale=meter.scale,
        workloads={name: _run_one(workload, meter) for name, workload in workloads.items()},
    )


def _run_one(workload: Workload, meter: Meter) -> WorkloadResult:
    print(f"{workload.name}: {workload.sentence}", file=sys.stderr, flush=True)
    measurements = asyncio.run(_measurements(workload, meter))
    names = [measurement.name for measurement in measurements]
    if len(set(names)) < len(names):
        raise BenchError(f"Workload '{workload.name}' has two measurements of one name in {names}: rename one.")
    return WorkloadResult(workload.sentence, measurements)


async def _measurements(workload: Workload, meter: Meter) -> tuple[Measurement, ...]:
    return tuple(await workload.measure(meter))
