"""One thing to time, and the clocks it is timed with.

A case is a plain or an async function of no arguments. The clocks are a parameter, so that tests can turn
them by hand.
"""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bench.measure.measurement import Counts


@dataclass(frozen=True, slots=True)
class Clocks:
    """Seconds of the wall, and seconds on a processor."""

    wall_seconds: Callable[[], float]
    cpu_seconds: Callable[[], float]


def _cpu_seconds() -> float:
    """Of this process, and of its children that have ended: servers that outlive a case are not in it."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


SYSTEM_CLOCKS = Clocks(time.perf_counter, _cpu_seconds)


@dataclass(frozen=True, slots=True)
class Sample:
    """What one operation cost in one round, and the exact counts of that round."""

    wall_seconds: float
    cpu_seconds: float
    counts: Counts


# What a run gives back: its exact counts, or a whole sample when it has clocks of its own.
Outcome = Counts | Sample | None
Run = Callable[[], Outcome | Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class Case:
    """`run` does `operations` operations and may return its exact counts; `prepare` is not timed.

    A run that reads its own clocks, because what it times happens in another process, returns its sample.
    """

    name: str
    operations: int
    run: Run
    prepare: Callable[[], Awaitable[None] | None] | None = None

    async def sample(self, clocks: Clocks) -> Sample:
        """Run once, between two readings of the clocks."""
        await self._prepare()
        wall, cpu = clocks.wall_seconds(), clocks.cpu_seconds()
        outcome = self.run()
        if isinstance(outcome, Awaitable):
            outcome = await outcome
        cpu, wall = clocks.cpu_seconds() - cpu, clocks.wall_seconds() - wall
        if isinstance(outcome, Sample):
            return outcome
        return Sample(wall / self.operations, cpu / self.operations, outcome or {})

    async def _prepare(self) -> None:
        preparing = self.prepare() if self.prepare else None
        if preparing is not None:
            await preparing
        # The garbage of one case must not be collected on the time of the next.
        gc.collect()
