"""Larger histories under random schedules and faults: a few thousand seeds, and as many more as SIM_RUNS asks for.

A seed that fails prints its trace and how to play it again: SIM_SEED=… pytest tests/simulation/test_random_runs.py
"""

from __future__ import annotations

import os
from random import Random

import pytest

from tests.simulation.random_run import Simulation

RUNS = int(os.environ.get("SIM_RUNS", "2000"))
LONG_RUNS = max(RUNS, 20_000)
CHUNKS = 16
SEED = os.environ.get("SIM_SEED")


def play(seed: int) -> None:
    """One simulation; a failure says how to see it again."""
    simulation = Simulation(Random(seed))
    try:
        simulation.run()
    except Exception as error:
        trace = "\n".join(simulation.trace)
        again = f"SIM_SEED={seed} pytest tests/simulation/test_random_runs.py"
        raise AssertionError(f"seed {seed}: {error}\nplay it again with: {again}\n{trace}") from error


@pytest.mark.skipif(SEED is not None, reason="one seed is asked for")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_runs_end_right(chunk: int) -> None:
    """Every index equals the projection of the newest facts, also after a second delivery of everything."""
    for seed in range(chunk, RUNS, CHUNKS):
        play(seed)


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_random_runs_end_right(chunk: int) -> None:
    """The same with ten times as many seeds."""
    for seed in range(1_000_000 + chunk, 1_000_000 + LONG_RUNS, CHUNKS):
        play(seed)


@pytest.mark.skipif(SEED is None, reason="SIM_SEED is not set")
def test_the_seed_that_is_asked_for() -> None:
    """To look at one failure again."""
    play(int(SEED or 0))
