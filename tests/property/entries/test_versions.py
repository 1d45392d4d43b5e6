"""Versions: fixed width, in the order of the source's clock, and invertible."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.entries.keys.limits import VERSION_UNITS
from shared.entries.keys.versions import (
    clock_of,
    declared_clock,
    inverted,
    is_clock_before,
    lsn_of,
    ticks_alone,
    ticks_clock,
    ticks_of,
    version,
    with_ticks_of,
    without_digest,
)

digests = st.from_regex(r"\A[0-9a-f]{8}\Z")
clocks = st.tuples(st.integers(0, 10**16 - 1), st.integers(0, 2**63 - 1))
moments = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-7))]))


def text(clock: tuple[int, int], digest: str, *, is_delete: bool) -> str:
    return version(f"{ticks_clock(*clock)}", digest, is_delete=is_delete)


@given(st.tuples(clocks, st.booleans(), digests), st.tuples(clocks, st.booleans(), digests))
def test_versions_sort_by_clock_then_delete_then_digest(
    left: tuple[tuple[int, int], bool, str], right: tuple[tuple[int, int], bool, str]
) -> None:
    """A delete comes after an upsert of the same clock value; the digest only tells documents apart."""
    a, b = (text(clock, digest, is_delete=is_delete) for clock, is_delete, digest in (left, right))
    assert (a < b) == (left < right)
    assert len(a) == len(b) == VERSION_UNITS


@given(st.tuples(clocks, st.booleans(), digests), st.tuples(clocks, st.booleans(), digests))
def test_inverted_versions_sort_newest_first(
    left: tuple[tuple[int, int], bool, str], right: tuple[tuple[int, int], bool, str]
) -> None:
    """The complement turns the order round and is its own inverse."""
    a, b = (text(clock, digest, is_delete=is_delete) for clock, is_delete, digest in (left, right))
    assert (inverted(a) > inverted(b)) == (a < b)
    assert inverted(inverted(a)) == a


@given(clocks, clocks, st.booleans(), digests)
def test_a_version_gives_back_what_it_was_made_of(
    clock: tuple[int, int], other: tuple[int, int], is_delete: bool, digest: str
) -> None:
    """Clock, ticks and counter; with the ticks of another one it keeps everything else."""
    made = text(clock, digest, is_delete=is_delete)
    assert clock_of(made) == ticks_clock(*clock)
    assert (ticks_of(made), lsn_of(made)) == clock
    lifted = with_ticks_of(made, text(other, "00000000", is_delete=False))
    assert lifted == text((other[0], clock[1]), digest, is_delete=is_delete)
    assert without_digest(made) + digest == made


@given(clocks, clocks)
def test_a_clock_is_before_a_version_also_by_its_ticks_alone(left: tuple[int, int], right: tuple[int, int]) -> None:
    """A document that was read tells its `_ts`, and only the feed its `_lsn`."""
    made = text(right, "00000000", is_delete=False)
    assert is_clock_before(f"{ticks_clock(*left)}", made) == (left < right)
    assert is_clock_before(f"{ticks_alone(left[0])}", made) == (left[0] < right[0])


@given(st.integers(0, 10**26 - 1), st.integers(0, 10**26 - 1))
def test_declared_integers_sort_as_numbers(left: int, right: int) -> None:
    """Any whole number from 0 up, however it is written."""
    assert (f"{declared_clock(left)}" < f"{declared_clock(str(right))}") == (left < right)


@given(moments, moments)
def test_declared_times_sort_as_instants(left: datetime, right: datetime) -> None:
    """Whatever their offsets are."""
    a, b = declared_clock(left.isoformat()), declared_clock(right.isoformat())
    if a is not None and b is not None:
        assert (a < b) == (left < right)


def test_a_number_and_its_other_spellings_are_one_version() -> None:
    """3, 3.0 and "3" come from hosts that rewrite numbers."""
    assert declared_clock(3) == declared_clock(3.0) == declared_clock("3")
    assert f"{declared_clock(2.5)}" < f"{declared_clock(3)}"


@pytest.mark.parametrize(
    "value",
    [None, True, -1, "-1", float("nan"), float("inf"), 10**26, "soon", "", [1], 1e-10, "2024-13-01", "1e3"],
)
def test_what_is_no_version_is_refused(value: object) -> None:
    """Negative, endless, too precise, or neither a number nor a time."""
    assert declared_clock(value) is None


@given(st.integers(0, 10**15), st.integers(0, 10**15))
def test_whole_doubles_are_clocks(ticks: int, counter: int) -> None:
    """The Cosmos DB extension hands over the clock of a delete as a double."""
    assert ticks_clock(float(ticks), float(counter)) == ticks_clock(ticks, counter)


WRONG_CLOCKS = [
    *[(None, 1), (1, None), (-1, 1), (1, -1), ("1", 1), (1.5, 1), (True, 1), (-1.0, 1), (1e16, 1)],
    # Above 2**53 a double is not exact.
    *[(1, 1e16), (1, 0.5), (float("nan"), 1), (float("inf"), 1)],
]


@pytest.mark.parametrize(("ticks", "counter"), WRONG_CLOCKS)
def test_clocks_that_are_no_counters_are_refused(ticks: object, counter: object) -> None:
    """`_ts` and `_lsn` are whole numbers from 0 up, or the change cannot be ordered."""
    assert ticks_clock(ticks, counter) is None
