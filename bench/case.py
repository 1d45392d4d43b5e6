"""One thing to time, and the clocks it is timed with.

A case is a plain or an async function of no arguments. The clocks are a parameter, so that tests can turn
them by hand.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bench.measurement import Counts

Run = Callable[[], Counts | Awaitable[Counts | None] | None]


@dataclass(frozen=True, slots=True)
class Clocks:
    """Seconds of the wall, and seconds that this process (not its children) was on a processor."""

    wall_seconds: Callable[[], float]
    cpu_seconds: Callable[[], float]


SYSTEM_CLOCKS = Clocks(time.perf_counter, time.process_time)


@dataclass(frozen=True, slots=True)
class Sample:
    """What one operation cost in one round, and the exact counts of that round."""

    wall_seconds: float
    cpu_seconds: float
    counts: Counts


@dataclass(frozen=True, slots=True)
class Case:
    """`run` does `operations` operations and may return its exact counts; `prepare` is not timed."""

    name: str
    operations: int
    run: Run
    prepare: Callable[[], Awaitable[None] | None] | None = None

    @classmethod
    def repeating(cls, name: str, call: Callable[[], object], operations: int) -> Case:
        """A case that makes one short call over and over."""

        def run() -> None:
            for _ in range(operations):
                call()

        return cls(name, operations, run)

    async def sample(self, clocks: Clocks) -> Sample:
        """Run once, between two readings of the clocks."""
        await self._prepare()
        wall, cpu = clocks.wall_seconds(), clocks.cpu_seconds()
        counts = self.run()
        if isinstance(counts, Awaitable):
            counts = await counts
        cpu, wall = clocks.cpu_seconds() - cpu, clocks.wall_seconds() - wall
        return Sample(wall / self.operations, cpu / self.operations, counts or {})

    async def _prepare(self) -> None:
        preparing = self.prepare() if self.prepare else None
        if preparing is not None:
            await preparing
        # The garbage of one case must not be collected on the time of the next.
        gc.collect()
