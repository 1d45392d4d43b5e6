"""Subjects and yardsticks are measured in turns; the clocks are turned by hand here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import BenchError
from bench.measure.case import Case, Clocks, Sample
from bench.measure.measurement import Bar, Counts
from bench.measure.meter import Meter
from bench.measure.spread import Spread

if TYPE_CHECKING:
    from collections.abc import Iterator


class ManualClocks:
    """Two clocks that move only when a case says so."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0

    @property
    def clocks(self) -> Clocks:
        return Clocks(lambda: self.wall, lambda: self.cpu)

    def case(self, name: str, wall: Iterator[float] | float, operations: int = 1, cpu: float = 0.5) -> Case:
        """A case that takes `wall` seconds (the next one each round) and `cpu` of processor time."""

        async def run() -> Counts | None:
            self.wall += wall if isinstance(wall, float) else next(wall)
            self.cpu += cpu
            return {"runs": 1}

        return Case(name, operations, run)


@pytest.fixture
def manual() -> ManualClocks:
    """Fresh clocks."""
    return ManualClocks()


def test_the_spread_is_the_median_between_the_quartiles() -> None:
    """Quartiles lie on the samples where they can."""
    assert Spread.of([5.0, 1.0, 4.0, 2.0, 3.0]) == Spread(2.0, 3.0, 4.0)


def test_one_sample_spreads_over_nothing() -> None:
    """A run with a single round has a median and no width."""
    assert Spread.of([7.0]) == Spread(7.0, 7.0, 7.0)
    assert Spread.of([7.0]).relative_width == 0


@given(st.lists(st.floats(min_value=1e-9, max_value=1e6), min_size=1))
def test_a_spread_is_ordered_and_inside_its_samples(samples: list[float]) -> None:
    """Low, median and high never cross, and never leave the range of the samples by more than rounding."""
    spread = Spread.of(samples)
    bounds = min(samples) * (1 - 1e-9), max(samples) * (1 + 1e-9)
    assert bounds[0] <= spread.low <= spread.median * (1 + 1e-9) <= spread.high * (1 + 2e-9)
    assert spread.high <= bounds[1]


async def test_costs_are_per_operation_and_ratios_are_taken_within_a_round(manual: ManualClocks) -> None:
    """A round twice as slow for both sides leaves the ratio alone; the warm-up round counts for nothing."""
    subject = manual.case("ours", iter([99.0, 2.0, 4.0, 2.0]), operations=2)
    yardstick = manual.case("theirs", iter([1.0, 4.0, 8.0, 4.0]), cpu=1.0)
    measured = await Meter(3, clocks=manual.clocks).compare("m", unit="thing", subject=subject, yardsticks=[yardstick])
    assert measured.subject.seconds.wall.median == 1.0
    assert measured.subject.seconds.cpu == Spread(0.25, 0.25, 0.25)
    assert measured.yardsticks[0].seconds.wall.median == 4.0
    assert [ratio.times.wall for ratio in measured.ratios] == [Spread(0.25, 0.25, 0.25)]
    assert [ratio.times.cpu for ratio in measured.ratios] == [Spread(0.25, 0.25, 0.25)]


async def test_cases_take_turns_and_every_second_round_runs_backwards(manual: ManualClocks) -> None:
    """One warm-up round, then A B, B A, A B; each run is prepared first."""
    turns: list[str] = []

    def case(name: str) -> Case:
        timed = manual.case(name, 1.0)
        return Case(name, 1, timed.run, prepare=lambda: turns.append(name))

    await Meter(3, clocks=manual.clocks).compare("m", unit="thing", subject=case("a"), yardsticks=[case("b")])
    assert "".join(turns) == "ab" + "ab" + "ba" + "ab"


async def test_preparing_is_not_timed(manual: ManualClocks) -> None:
    """Time that passes in `prepare` is nobody's cost."""

    async def prepare() -> None:
        manual.wall += 1000

    case = Case("a", 1, manual.case("a", 1.0).run, prepare)
    measured = await Meter(1, clocks=manual.clocks).compare("m", unit="thing", subject=case)
    assert measured.subject.seconds.wall.median == 1.0


async def test_a_case_may_bring_its_own_readings(manual: ManualClocks) -> None:
    """What happens in another process is timed there."""
    case = Case("a", 1, lambda: Sample(7.0, 3.0, {"n": 1}))
    measured = await Meter(1, clocks=manual.clocks).compare("m", unit="thing", subject=case)
    assert (measured.subject.seconds.wall.median, measured.subject.seconds.cpu.median) == (7.0, 3.0)
    assert measured.subject.counts == {"n": 1}


async def test_what_is_only_counted_runs_once() -> None:
    """Without a round to warm up; and long things have fewer rounds, never more than asked for."""
    runs: list[int] = []
    case = Case("a", 1, lambda: runs.append(1))
    await Meter(9).once().compare("m", unit="thing", subject=case)
    assert len(runs) == 1
    assert (Meter(9).at_most(5).rounds, Meter(2).at_most(5).rounds) == (5, 2)


async def test_a_plain_function_is_a_case_too(manual: ManualClocks) -> None:
    """It runs once per round and once in the warm-up; without an answer it has no counts."""
    calls: list[int] = []
    case = Case("a", 5, lambda: calls.append(1))
    measured = await Meter(2, clocks=manual.clocks).compare("m", unit="thing", subject=case)
    assert len(calls) == 3
    assert measured.subject.counts == {}


async def test_bars_say_whether_they_are_reached(manual: ManualClocks) -> None:
    """A bar is held against a ratio or against the seconds of the subject, by the clock it names."""
    bars = [Bar(2.0, "theirs"), Bar(1.9, "theirs"), Bar(0.5, clock="cpu"), Bar(0.4, clock="cpu")]
    subject, yardstick = manual.case("ours", 2.0), manual.case("theirs", 1.0)
    measured = await Meter(1, clocks=manual.clocks).compare(
        "m", unit="thing", subject=subject, yardsticks=[yardstick], bars=bars
    )
    assert [verdict.reached for verdict in measured.verdicts] == [True, False, True, False]


async def test_a_count_that_differs_between_rounds_is_refused(manual: ManualClocks) -> None:
    """Exact counts must be exact."""
    counts = iter([{"n": 1}, {"n": 1}, {"n": 2}])
    with pytest.raises(BenchError, match=r"'a' in measurement 'm' counted {'n': 1} .* {'n': 2}"):
        await Meter(2, clocks=manual.clocks).compare("m", unit="thing", subject=Case("a", 1, lambda: next(counts)))


async def test_a_yardstick_that_takes_no_time_is_refused(manual: ManualClocks) -> None:
    """Nothing can be divided by it."""
    with pytest.raises(BenchError, match=r"'b' in measurement 'm' took no time .* more operations"):
        await Meter(1, clocks=manual.clocks).compare(
            "m", unit="thing", subject=manual.case("a", 1.0), yardsticks=[manual.case("b", 0.0)]
        )


async def test_two_cases_of_one_name_are_refused(manual: ManualClocks) -> None:
    """Names are how a baseline finds its cases again."""
    with pytest.raises(BenchError, match="two cases of one name"):
        await Meter(1, clocks=manual.clocks).compare(
            "m", unit="thing", subject=manual.case("a", 1.0), yardsticks=[manual.case("a", 1.0)]
        )


async def test_a_bar_against_no_yardstick_is_refused(manual: ManualClocks) -> None:
    """It would be held against the wrong number."""
    with pytest.raises(BenchError, match=r"bar against 'x', which is none of its yardsticks \[\]"):
        await Meter(1, clocks=manual.clocks).compare(
            "m", unit="thing", subject=manual.case("a", 1.0), bars=[Bar(1.0, "x")]
        )


def test_sizes_follow_the_scale_and_never_vanish() -> None:
    """A tiny scale still measures one operation."""
    assert [Meter(1, scale).scaled(200) for scale in (2.0, 0.1, 0.0001)] == [400, 20, 1]
