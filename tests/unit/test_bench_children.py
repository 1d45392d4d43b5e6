"""Programs in fresh processes: their own clocks, and a peak of memory that is theirs."""

from __future__ import annotations

import pytest

from bench.children import Child
from bench.errors import BenchError


async def test_the_peak_is_the_childs_and_not_the_parents() -> None:
    """Linux lets a child begin with the peak of whoever forked it."""
    ballast = bytearray(200_000_000)
    child, large = Child("pass"), Child("block = bytearray(150_000_000)")
    await child.run()
    await large.run()
    assert len(ballast) > 2 * child.peak_bytes
    assert large.peak_bytes > child.peak_bytes + 140_000_000


async def test_costs_are_per_operation() -> None:
    """Both clocks are read in the child."""
    sample = await Child("while time.perf_counter() - wall < 0.1: pass", operations=10).run()
    assert sample.wall_seconds >= 0.01
    assert 0 < sample.cpu_seconds <= sample.wall_seconds * 1.5


async def test_a_program_that_fails_says_why() -> None:
    """Its last words are in the error."""
    with pytest.raises(BenchError, match="ZeroDivisionError"):
        await Child("1 / 0").run()
