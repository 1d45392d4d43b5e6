"""Larger histories of summaries under random schedules and faults: totals are checked after every request.

A seed that fails prints its trace and how to play it again, with SIM_SEED.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from shared.entries.summaries import extremes
from tests.simulation.summary_run import SummarySimulation

RUNS = int(os.environ.get("SIM_RUNS", "400"))
# `.ci/run` takes fewer, to end in time.
LONG_RUNS = max(RUNS, int(os.environ.get("SIM_MANY_RUNS", "20000")))
CHUNKS = 16
SEED = os.environ.get("SIM_SEED")


@pytest.fixture(autouse=True)
def _short_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of extremes run empty soon."""
    monkeypatch.setattr(extremes, "KEPT", 2)


def play(seed: int) -> None:
    """One simulation; a failure says how to see it again."""
    simulation = SummarySimulation(Random(seed))
    try:
        simulation.run()
    except Exception as error:
        trace = "\n".join(simulation.trace)
        again = f"SIM_SEED={seed} pytest tests/simulation/test_summary_random_runs.py"
        raise AssertionError(f"seed {seed}: {error}\nplay it again with: {again}\n{trace}") from error


def many_seeds(chunk: int) -> range:
    """A part of the seeds of the long tests."""
    return range(1_000_000 + chunk, 1_000_000 + LONG_RUNS, CHUNKS)


@pytest.mark.skipif(SEED is not None, reason="one seed is asked for")
@pytest.mark.parametrize("chunk", range(4))
def test_random_runs_of_summaries_end_right(chunk: int) -> None:
    """Totals are sums of contributions at every step, and those of a recount after every delivery."""
    for seed in range(chunk, RUNS, 4):
        play(seed)


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_random_runs_of_summaries_end_right(chunk: int) -> None:
    """The same with fifty times as many seeds."""
    for seed in many_seeds(chunk):
        play(seed)


def test_the_long_tests_play_twenty_thousand_seeds() -> None:
    """Each of them once."""
    played = [seed for chunk in range(CHUNKS) for seed in many_seeds(chunk)]
    assert len(set(played)) == len(played) == LONG_RUNS
    assert "SIM_MANY_RUNS" in os.environ or LONG_RUNS >= 20_000


@pytest.mark.skipif(SEED is None, reason="SIM_SEED is not set")
def test_the_seed_that_is_asked_for() -> None:
    """To look at one failure again."""
    play(int(SEED or 0))
