"""A child is restarted a few times a minute, not for ever."""

from __future__ import annotations

from local.run.restarts import MOST, WITHIN_SECONDS, RestartBudget


def test_the_budget_ends_within_one_window() -> None:
    """The next restart would be one too many."""
    budget = RestartBudget()
    assert [budget.take(float(second)) for second in range(MOST + 1)] == [1, 2, 3, 4, 5, None]


def test_the_budget_comes_back_as_time_passes() -> None:
    """Only the restarts of the last window count."""
    budget = RestartBudget()
    for second in range(MOST):
        budget.take(float(second))
    assert budget.take(WITHIN_SECONDS) == MOST
    assert budget.take(WITHIN_SECONDS) is None
