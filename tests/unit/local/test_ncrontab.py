"""NCRONTAB schedules come round when they should."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.host.triggers.ncrontab import parse
from local.process.errors import LocalRunError


def moment(text: str) -> datetime:
    """A point in time, UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        ("* * * * * *", "2026-11-17 10:00:00", "2026-11-17 10:00:01"),
        ("*/15 * * * * *", "2026-11-17 10:00:50", "2026-11-17 10:01:00"),
        ("0 */5 * * * *", "2026-11-17 10:00:00", "2026-11-17 10:05:00"),
        ("0 30 9-17/4 * * *", "2026-11-17 13:30:00", "2026-11-17 17:30:00"),
        ("0 0 20/2 * * *", "2026-11-17 21:00:00", "2026-11-17 22:00:00"),
        ("0 0 0 * * 0", "2026-11-17 10:00:00", "2026-11-22 00:00:00"),
        ("0 0 9 * * Mon-Fri", "2026-11-20 10:00:00", "2026-11-23 09:00:00"),
        ("0 0 0 29 2 *", "2026-11-17 10:00:00", "2028-02-29 00:00:00"),
        ("0 0 0 13 * fri", "2026-11-17 10:00:00", "2027-08-13 00:00:00"),
        ("0 0 0 1 jan,jul *", "2026-11-17 10:00:00", "2027-01-01 00:00:00"),
        ("5 * * * *", "2026-11-17 10:06:00", "2026-11-17 11:05:00"),
        ("00:00:30", "2026-11-17 10:00:00", "2026-11-17 10:00:30"),
        ("0 59 23 31 12 *", "2026-12-31 23:59:00", "2027-12-31 23:59:00"),
    ],
)
def test_the_next_occurrence_is_found(schedule: str, after: str, expected: str) -> None:
    """Strictly after the given moment."""
    assert parse(schedule).next_after(moment(after)) == moment(expected)


def test_a_day_that_never_comes_has_no_occurrence() -> None:
    """30 February."""
    assert parse("0 0 0 30 2 *").next_after(moment("2026-11-17 10:00:00")) is None


@pytest.mark.parametrize(
    "schedule",
    [
        "",
        "* * *",
        "60 * * * * *",
        "0 0 0 0 * *",
        "* * * * 13 *",
        "* * * * * 7",
        "a * * * * *",
        "5-1 * * * * *",
        "*/0 * * * * *",
        "1,,2 * * * * *",
        "25:xx:00",
    ],
)
def test_a_schedule_that_cannot_be_read_is_refused(schedule: str) -> None:
    """With a sentence that names the schedule."""
    with pytest.raises(LocalRunError):
        parse(schedule)


@given(
    second=st.integers(0, 59),
    minute_step=st.integers(1, 59),
    hour=st.integers(0, 23),
    start=st.integers(0, 10 * 366 * 86400).map(lambda seconds: moment("2020-01-01") + timedelta(seconds=seconds)),
)
def test_the_next_occurrence_is_the_first_second_that_fits(
    second: int, minute_step: int, hour: int, start: datetime
) -> None:
    """Brute force over every second of the following days agrees."""
    found = parse(f"{second} */{minute_step} {hour} * * *").next_after(start)
    candidate = start.replace(microsecond=0) + timedelta(seconds=1)
    candidate += timedelta(seconds=(second - candidate.second) % 60)
    while candidate.hour != hour or candidate.minute % minute_step:
        candidate += timedelta(minutes=1)
    assert found == candidate
