"""One run over some workloads: each in an event loop of its own, so that none leaves tasks to the next.

A workload that fails takes nothing with it: the minutes that the others took are worth keeping.
"""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import time
import traceback
from typing import TYPE_CHECKING

from bench.errors import BenchError
from bench.measure.result import Result, WorkloadResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.measure.measurement import Measurement
    from bench.measure.meter import Meter
    from bench.measure.workload import Workload


def run(workloads: Mapping[str, Workload], meter: Meter, date: str) -> Result:
    """Measure `workloads` one after the other; those that failed are not in the result."""
    measured = {name: _run_one(workload, meter) for name, workload in workloads.items()}
    return Result(
        date=date,
        python=platform.python_version(),
        cpu_count=os.cpu_count() or 1,
        rounds=meter.rounds,
        scale=meter.scale,
        workloads={name: each for name, each in measured.items() if each is not None},
    )


def _run_one(workload: Workload, meter: Meter) -> WorkloadResult | None:
    """None when it failed, which has then been said: in a sentence if it is a fault of ours, else with its trace."""
    _say(f"{workload.name}: {workload.sentence}")
    start = time.perf_counter()
    try:
        measured = asyncio.run(_measurements(workload, meter))
    except BenchError as error:
        _say(str(error))
    except Exception:
        traceback.print_exc()
    else:
        _say(f"{workload.name}: {time.perf_counter() - start:.0f} s")
        return WorkloadResult(workload.sentence, measured)
    _say(f"{workload.name} failed and is not in the result.")
    return None


async def _measurements(workload: Workload, meter: Meter) -> tuple[Measurement, ...]:
    measurements = tuple(await workload.measure(meter))
    names = [measurement.name for measurement in measurements]
    if len(set(names)) < len(names):
        raise BenchError(f"Workload '{workload.name}' has two measurements of one name in {names}: rename one.")
    return measurements


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
