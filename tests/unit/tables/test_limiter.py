"""The limit of calls at once to one account: it grows to what the instance can do, and gives way to the service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shared.tables.limiter.calls import CallShape, Outcome, Priority
from shared.tables.limiter.limiter import LEAST, START, Limiter
from shared.tables.limiter.pacing import Pacing
from tests.unit.tables.storage_model import CALL, StorageModel

if TYPE_CHECKING:
    import random

# One core at 0.4 ms per call.
CPU_LIMIT = 2_500


def steady(median: float, seconds: float = 4.0) -> StorageModel:
    model = StorageModel(Limiter(), median=median)
    model.run(seconds)
    return model


@pytest.mark.parametrize(("median", "share"), [(0.003, 0.9), (0.010, 0.9), (0.025, 0.85)])
def test_it_grows_until_the_instance_is_busy(median: float, share: float) -> None:
    assert steady(median).rate(2, 4) >= share * CPU_LIMIT


def test_it_is_there_within_the_first_second() -> None:
    assert steady(0.010, 1.0).rate(0, 1) >= 0.8 * CPU_LIMIT


def test_it_does_not_grow_when_that_only_makes_a_queue() -> None:
    """16 at once are enough for a service that answers one call per millisecond: the core is never idle."""
    model = StorageModel(Limiter(), median=0.0005)
    model.run(4)
    assert model.limiter.limit <= 2 * START


def test_equal_histories_give_equal_limits() -> None:
    first, second = steady(0.010, 1.0), steady(0.010, 1.0)
    assert first.answered == second.answered
    assert first.limiter.limit == second.limiter.limit


def test_it_never_exceeds_its_bound() -> None:
    model = StorageModel(Limiter(most=20), median=0.025)
    model.run(2)
    assert model.in_flight_max == 20


def test_a_bound_of_one_lets_calls_out_one_by_one() -> None:
    model = StorageModel(Limiter(most=1))
    model.run(1)
    assert model.in_flight_max == 1
    assert model.answered


def any_partition(source: random.Random) -> CallShape:
    return CallShape(("Table", str(source.randrange(100_000))), 1, is_write=True)


def test_an_account_that_allows_half_is_used_to_nine_tenths_and_hardly_refuses() -> None:
    model = StorageModel(Limiter(), account_rate=1_200, shape_of=any_partition)
    model.run(10)
    assert model.rate(2, 10) >= 0.9 * 1_200
    assert len(model.throttled) <= 0.03 * len(model.answered)


def one_hot(source: random.Random) -> CallShape:
    if source.random() < 0.1:
        return CallShape(("Table", "hot"), 100, is_write=True)
    return any_partition(source)


def test_a_hot_partition_is_paced_and_does_not_slow_the_others() -> None:
    alone = StorageModel(Limiter(), shape_of=any_partition)
    alone.run(6)
    beside = StorageModel(Limiter(), shape_of=one_hot)
    beside.run(6)
    assert beside.limiter.pacing.is_paced(("Table", "hot"))
    assert beside.rate(2, 6) >= 0.8 * alone.rate(2, 6)
    assert len(beside.throttled) <= 0.03 * len(beside.answered)


def test_a_paced_partition_that_throttles_again_later_is_still_alone() -> None:
    """It tries a faster pace every few seconds: each of these throttles would hold up the growth of the account."""
    pacing, hot = Pacing(), ("Table", "hot")
    assert not pacing.is_own(hot, 0.0)
    assert pacing.is_own(hot, 0.5)
    assert pacing.is_own(hot, 3.0)
    assert not pacing.is_own(("Table", "another"), 3.0)
    assert not pacing.is_own(hot, 60.0), "its pace was forgotten"


def answer(limiter: Limiter, outcome: Outcome, count: int, now: float) -> float:
    """Calls one after the other, 10 ms each."""
    for _ in range(count):
        flight = limiter.start(CALL, Priority.FEED, now)
        now += 0.010
        limiter.end(flight, outcome, now)
    return now


def test_silence_halves_the_limit_once() -> None:
    limiter = Limiter()
    flights = [limiter.start(CALL, Priority.FEED, 0.0) for _ in range(16)]
    for flight in flights:
        limiter.end(flight, "silent", 20.0)
    assert limiter.limit == START / 2
    assert limiter.last_cut is not None
    assert limiter.last_cut.reason == "silent"


def test_throttles_cut_by_their_share() -> None:
    limiter = Limiter()
    now = answer(limiter, "answered", 12, 0.0)
    answer(limiter, "throttled", 4, now)
    assert limiter.limit == START * 0.75


def test_the_limit_never_falls_below_one() -> None:
    limiter = Limiter()
    answer(limiter, "throttled", 1_000, 0.0)
    assert limiter.limit == LEAST
    assert limiter.allowed == LEAST


def test_an_attempt_that_never_left_says_nothing() -> None:
    limiter = Limiter()
    answer(limiter, "unsent", 1_000, 0.0)
    assert limiter.limit == START
    assert limiter.in_flight == 0


def test_after_an_outage_it_begins_anew() -> None:
    model = steady(0.010, 1.0)
    assert model.limiter.limit > START
    model.limiter.outage(model.now, is_silent=True)
    assert model.limiter.limit == START


def test_a_service_that_became_slow_keeps_most_of_its_rate() -> None:
    """Twice the latency needs twice the calls: the quiet latency is measured again, and the limit is not cut."""
    model = steady(0.010, 4.0)
    model.median = 0.020
    model.run(20)
    assert model.rate(14, 20) >= 0.75 * model.rate(2, 4)
