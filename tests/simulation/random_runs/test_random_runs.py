"""Everything that a deployment does, at once and under faults, for many seeds: nothing is lost, and nothing stays.

A seed that fails prints its trace and how to play it again: `python -m tests.simulation --seeds SEED`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from shared.pipeline.apply import settle_debts
from tests.simulation.random_runs.coverage import missing
from tests.simulation.random_runs.play import Played, play

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNKS = 3
SEEDS = range(600)
# Those that `make test-long` adds; `.ci/run` takes fewer, to end in time.
MANY_RUNS = int(os.environ.get("SIM_MANY_RUNS", "20000"))
MANY_SEEDS = range(1_000_000, 1_000_000 + MANY_RUNS)
# As many seeds in each as cover all that can happen.
MANY_CHUNKS = max(1, MANY_RUNS // 500)


def played_right(seeds: range) -> Played:
    """What runs without a violation have covered."""
    played = play(seeds)
    assert not played.violations, "\n\n".join(map(str, played.violations[:3]))
    assert played.runs == len(seeds)
    return played


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_runs_end_right(chunk: int, tell: Callable[[Played], None]) -> None:
    """Readers miss nothing, and every index and dead letter is right in the end. Each part of the seeds covers all that
    can happen: what no run meets any more is not tested."""
    played = played_right(SEEDS[chunk::CHUNKS])
    tell(played)
    assert missing(played.coverage) == []


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(MANY_CHUNKS))
def test_many_random_runs_end_right(chunk: int, tell: Callable[[Played], None]) -> None:
    """The same with twenty thousand other seeds."""
    played = played_right(MANY_SEEDS[chunk::MANY_CHUNKS])
    tell(played)
    assert missing(played.coverage) == []


def test_debts_that_are_not_paid_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexes may be right beside them: a check of its own looks."""
    monkeypatch.setattr(settle_debts, "_is_paid", lambda *_: False)
    violations = play(range(20)).violations
    assert any("a ledger row owes" in violation.problem for violation in violations)


def test_the_long_tests_play_twenty_thousand_seeds() -> None:
    """Each of them once, and none that the short tests play."""
    played = [seed for chunk in range(MANY_CHUNKS) for seed in MANY_SEEDS[chunk::MANY_CHUNKS]]
    assert len(set(played) - set(SEEDS)) == len(played) == MANY_RUNS
    assert "SIM_MANY_RUNS" in os.environ or MANY_RUNS >= 20_000
