"""The circuit breaker: opens after failures in a row, lets one probe out at a time, closes on the first answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shared.tables.breaker import (
    FAILURES_MAX,
    FIRST_PROBE_SECONDS,
    LONGEST_PROBE_SECONDS,
    PROBE_ANSWER_SECONDS,
    Breaker,
)


def opened(at_seconds: float = 100.0) -> Breaker:
    """A breaker that has just opened."""
    breaker = Breaker()
    for _ in range(FAILURES_MAX):
        breaker.failed(at_seconds, "no answer")
    return breaker


def test_it_opens_after_failures_in_a_row() -> None:
    """An answer in between starts the count again."""
    breaker = Breaker()
    for _ in range(FAILURES_MAX - 1):
        assert not breaker.failed(1.0, "no answer")
    breaker.succeeded(2.0)
    for _ in range(FAILURES_MAX - 1):
        assert not breaker.failed(3.0, "no answer")
    assert breaker.state == "closed"
    assert breaker.failed(4.0, "no answer")
    assert (breaker.state, breaker.opened_at_seconds) == ("open", 4.0)


def test_silence_opens_it_at_once() -> None:
    """A call that waited in vain for its whole time says more than five that were refused."""
    breaker = Breaker()
    assert breaker.failed(20.0, "no answer", is_silent=True)
    assert breaker.state == "open"
    assert breaker.admits(20.0 + FIRST_PROBE_SECONDS)


def test_only_one_probe_is_out_at_a_time() -> None:
    """The others are held back until it is answered, fails, or is lost."""
    breaker = opened(100.0)
    assert not breaker.admits(100.0)
    due = 100.0 + FIRST_PROBE_SECONDS
    assert breaker.admits(due)
    assert breaker.state == "half-open"
    assert not breaker.admits(due)
    assert not breaker.admits(due + PROBE_ANSWER_SECONDS - 0.01)
    assert breaker.admits(due + PROBE_ANSWER_SECONDS)


def test_an_answer_closes_it_and_tells_how_long_it_was_down() -> None:
    """Also the answer to a call that was on its way before."""
    breaker = opened(100.0)
    assert breaker.succeeded(107.5) == 7.5
    assert (breaker.state, breaker.failures, breaker.last_outage_seconds) == ("closed", 0, 7.5)
    assert breaker.admits(107.5)
    assert breaker.succeeded(108.0) is None


def test_probes_are_never_more_than_a_second_apart() -> None:
    """However long the outage lasts, its end is noticed soon."""
    breaker = opened(0.0)
    now, waits = 0.0, []
    for _ in range(20):
        waited = now
        while not breaker.admits(now):
            now += 0.01
        waits.append(now - waited)
        breaker.failed(now, "no answer")
    assert max(waits) <= LONGEST_PROBE_SECONDS + 0.02
    assert waits[-1] > waits[0]


def test_the_service_may_ask_for_a_longer_wait_within_bounds() -> None:
    """Retry-After moves the probe, but not by minutes."""
    breaker = Breaker()
    for _ in range(FAILURES_MAX):
        breaker.failed(0.0, "busy", retry_after_seconds=60.0)
    assert not breaker.admits(2.0)
    assert breaker.admits(PROBE_ANSWER_SECONDS)


def test_a_snapshot_tells_what_is_known() -> None:
    """For the status."""
    breaker = opened(100.0)
    shown = breaker.snapshot(103.0)
    assert (shown.state, shown.failures, shown.open_for_seconds) == ("open", FAILURES_MAX, 3.0)
    assert shown.last_error == "no answer"
    breaker.succeeded(104.0)
    shown = breaker.snapshot(110.0)
    assert (shown.state, shown.open_for_seconds, shown.last_outage_seconds) == ("closed", None, 4.0)


@given(st.lists(st.tuples(st.sampled_from(["admit", "fail", "succeed"]), st.floats(0, 5)), max_size=60))
def test_it_is_never_stuck(events: list[tuple[str, float]]) -> None:
    """Whatever happened: after at most a lost probe and a wait a call may go out, and an answer closes it."""
    breaker, now = Breaker(), 0.0
    for event, passed in events:
        now += passed
        if event == "admit":
            breaker.admits(now)
        elif event == "fail":
            breaker.failed(now, "no answer")
        else:
            breaker.succeeded(now)
    now += PROBE_ANSWER_SECONDS + LONGEST_PROBE_SECONDS
    assert breaker.admits(now)
    breaker.succeeded(now)
    assert breaker.state == "closed"
