"""Retry policies say how often and after which wait."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from local.host.retries import UNLIMITED, RetryPolicy

HALF = 0.5  # no jitter either way


def test_a_fixed_delay_is_always_the_same() -> None:
    """Whatever the try."""
    policy = RetryPolicy(3, 2.0, 2.0, exponential=False)
    assert {policy.wait_seconds(count, lambda: 0.9) for count in range(10)} == {2.0}


def test_an_exponential_wait_doubles_up_to_its_maximum() -> None:
    """From the minimum interval."""
    policy = RetryPolicy(UNLIMITED, 1.0, 10.0, exponential=True)
    assert [policy.wait_seconds(count, lambda: HALF) for count in range(6)] == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


@given(st.integers(0, 10_000), st.floats(0, 1, exclude_max=True))
def test_an_unlimited_policy_always_allows_another_bounded_wait(count: int, random: float) -> None:
    """However long an outage lasts."""
    policy = RetryPolicy(UNLIMITED, 1.0, 300.0, exponential=True)
    assert policy.allows(count)
    assert 1.0 <= policy.wait_seconds(count, lambda: random) <= 300.0


def test_a_limited_policy_ends() -> None:
    """After its count of retries."""
    policy = RetryPolicy(2, 1.0, 1.0, exponential=False)
    assert [policy.allows(count) for count in range(4)] == [True, True, False, False]
