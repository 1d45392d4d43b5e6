"""Larger histories with verifications and repairs beside everything else, and with damage that they find and repair.

A seed that fails prints its trace: SIM_SEED=… pytest tests/simulation/test_verified_runs.py
"""

from __future__ import annotations

import os
from random import Random

import pytest

from tests.simulation.verified_run import VerifiedSimulation

RUNS = int(os.environ.get("SIM_RUNS", "64"))
LONG_RUNS = max(RUNS, 3000)
CHUNKS = 8
SEED = os.environ.get("SIM_SEED")


def play(seed: int) -> None:
    """One simulation; a failure says how to see it again."""
    simulation = VerifiedSimulation(Random(seed))
    try:
        simulation.run()
    except Exception as error:
        trace = "\n".join(simulation.trace[-400:])
        again = f"SIM_SEED={seed} pytest tests/simulation/test_verified_runs.py"
        raise AssertionError(f"seed {seed}: {error}\nplay it again with: {again}\n{trace}") from error


@pytest.mark.skipif(SEED is not None, reason="one seed is asked for")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_verified_runs_end_right(chunk: int) -> None:
    """Repairs make no error, verifications find nothing once all is drained, and damage is found and repaired."""
    for seed in range(chunk, RUNS, CHUNKS):
        play(seed)


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_verified_runs_end_right(chunk: int) -> None:
    """The same with more seeds."""
    for seed in range(1_000_000 + chunk, 1_000_000 + LONG_RUNS, CHUNKS):
        play(seed)


@pytest.mark.skipif(SEED is None, reason="SIM_SEED is not set")
def test_the_seed_that_is_asked_for() -> None:
    """To look at one failure again."""
    play(int(SEED or 0))
