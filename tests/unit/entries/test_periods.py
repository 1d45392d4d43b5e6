"""Periods: which day, week or month an entry expires in, by the UTC calendar and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from shared.entries.keys.periods import (
    GRACE_SECONDS,
    UNDATED,
    Periods,
    is_of_period,
    period_of,
    table_of,
    without_period,
)

if TYPE_CHECKING:
    from shared.definitions.model import PeriodLength

BASE = "orders0123456789abcdef"
DAY_SECONDS = 86_400


def at(text: str) -> int:
    """Seconds since 1970."""
    return int((datetime.fromisoformat(text).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())


def periods(length: PeriodLength, days: int = 60) -> Periods:
    """Of an index whose entries live so long."""
    return Periods(length, days * DAY_SECONDS)


@pytest.mark.parametrize(
    ("length", "moment", "start", "end"),
    [
        ("day", "2027-01-15T00:00:00", "20270115", "2027-01-16T00:00:00"),
        ("day", "2027-01-15T23:59:59", "20270115", "2027-01-16T00:00:00"),
        ("day", "2028-02-29T12:00:00", "20280229", "2028-03-01T00:00:00"),
        ("day", "2027-12-31T23:59:59", "20271231", "2028-01-01T00:00:00"),
        # A Friday; a Sunday's last second and the Monday after it; the week of a new year begins in the old one.
        ("week", "2027-01-15T08:00:00", "20270111", "2027-01-18T00:00:00"),
        ("week", "2027-01-17T23:59:59", "20270111", "2027-01-18T00:00:00"),
        ("week", "2027-01-18T00:00:00", "20270118", "2027-01-25T00:00:00"),
        ("week", "2027-01-01T00:00:00", "20261228", "2027-01-04T00:00:00"),
        ("week", "2028-02-29T00:00:00", "20280228", "2028-03-06T00:00:00"),
        ("month", "2027-01-31T23:59:59", "20270101", "2027-02-01T00:00:00"),
        ("month", "2027-02-28T23:59:59", "20270201", "2027-03-01T00:00:00"),
        ("month", "2028-02-29T23:59:59", "20280201", "2028-03-01T00:00:00"),
        ("month", "2100-02-28T23:59:59", "21000201", "2100-03-01T00:00:00"),
        ("month", "2027-12-31T00:00:00", "20271201", "2028-01-01T00:00:00"),
        ("month", "1969-12-31T23:59:59", "19691201", "1970-01-01T00:00:00"),
    ],
)
def test_an_instant_is_in_its_utc_day_week_or_month(length: PeriodLength, moment: str, start: str, end: str) -> None:
    """Weeks begin on Monday; leap years have their day, and centuries do not."""
    assert periods(length).start(at(moment)) == start
    assert periods(length).end_seconds(start) == at(end)
    assert periods(length).start(at(end)) != start


@pytest.mark.parametrize(("length", "last"), [("day", "99991231"), ("week", "99991227"), ("month", "99991201")])
def test_what_expires_after_the_last_calendar_is_in_its_last_period(length: PeriodLength, last: str) -> None:
    """9999-12-31 means "never" to many; 90 days after it no calendar has a day."""
    calendar = periods(length)
    assert (
        calendar.start(at("9999-12-31T23:59:59"))
        == calendar.start(at("9999-12-31T23:59:59") + 90 * DAY_SECONDS)
        == last
    )
    assert not calendar.is_over(last, at("9999-12-31T00:00:00"))
    assert calendar.start(at("0001-01-01T00:00:00")) == "00010101"


def test_an_entry_without_an_end_is_undated_and_never_over() -> None:
    """It is in the generation's own table."""
    calendar = periods("month")
    assert calendar.start(None) == UNDATED
    assert not calendar.is_over(UNDATED, at("9999-12-31T00:00:00"))
    assert table_of(BASE, UNDATED) == BASE


def test_a_period_is_over_an_hour_after_its_end() -> None:
    """Clocks differ."""
    calendar = periods("month")
    end = at("2027-02-01T00:00:00")
    assert not calendar.is_over("20270101", end + GRACE_SECONDS - 1)
    assert calendar.is_over("20270101", end + GRACE_SECONDS)


@pytest.mark.parametrize(
    ("length", "days", "now", "near"),
    [
        ("day", 1, "2027-01-15T08:00:00", ["20270115", "20270116", "20270117"]),
        ("week", 7, "2027-01-15T08:00:00", ["20270111", "20270118", "20270125"]),
        ("month", 28, "2027-01-15T08:00:00", ["20270101", "20270201", "20270301"]),
        ("month", 90, "2027-01-31T00:00:00", ["20270101", "20270201", "20270301", "20270401", "20270501", "20270601"]),
        ("month", 30, "2027-12-31T23:59:59", ["20271201", "20280101", "20280201"]),
    ],
)
def test_near_periods_reach_from_now_to_one_beyond_what_is_written_now(
    length: PeriodLength, days: int, now: str, near: list[str]
) -> None:
    """A sender's clock may be a little ahead, and the next period is made before it begins."""
    assert list(periods(length, days).near(at(now))) == near


def test_tables_are_told_apart_by_their_names() -> None:
    """Only first days of periods count; a table of somebody else is nobody's period."""
    names = [BASE, f"{BASE}p", *(f"{BASE}p{day}" for day in ("20270101", "20270102", "20270230", "2027010")), "other"]
    assert periods("month").starts_in(names, BASE) == ["20270101"]
    assert periods("day").starts_in(names, BASE) == ["20270101", "20270102"]
    assert [is_of_period(name) for name in names] == [False, False, True, True, True, False, False]
    assert {without_period(name) for name in names[:5]} == {BASE}
    assert without_period("Ledger") == "Ledger"


def test_a_key_of_no_period_is_refused() -> None:
    """Such rows are strays."""
    assert period_of("20270101 Redmond !") == "20270101"
    for key in ("Redmond !", "2027010 X !", "20270101", ""):
        with pytest.raises(ValueError, match="begins with no period"):
            period_of(key)
