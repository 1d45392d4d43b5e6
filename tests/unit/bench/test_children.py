"""Programs in fresh processes: their own clocks, and what they say when they fail."""

from __future__ import annotations

import pytest

from bench.errors import BenchError
from bench.processes.children import Child


async def test_costs_are_per_operation() -> None:
    """Both clocks are read in the child."""
    sample = await Child("while time.perf_counter() - wall < 0.1: pass", operations=10).run()
    assert sample.wall_seconds >= 0.01
    assert 0 < sample.cpu_seconds <= sample.wall_seconds * 1.5


async def test_a_program_that_fails_says_why() -> None:
    """Its last words are in the error."""
    with pytest.raises(BenchError, match="ZeroDivisionError"):
        await Child("1 / 0").run()
