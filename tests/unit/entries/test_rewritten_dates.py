"""Times inside documents are rewritten as the real host's JSON library does it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.entries.changes.host_dates import NoSuchDateError, as_host_rewrites, rewritten

# Worked out from the library's source; the zone of the machine is UTC.
REWRITTEN = {
    "2026-01-01T00:00:00Z": "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00z": "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00.000Z": "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:05.600Z": "2026-01-01T00:00:05.6Z",
    "2026-01-01T00:00:00.1234567Z": "2026-01-01T00:00:00.1234567Z",
    "2026-01-01T01:30:00.10+01:30": "2026-01-01T00:00:00.1+00:00",
    "2026-01-01T02:00:00+02": "2026-01-01T00:00:00+00:00",
    "2026-01-01T02:00:00+02:": "2026-01-01T00:00:00+00:00",
    "2026-01-01T02:00:00+0200": "2026-01-01T00:00:00+00:00",
    "2026-01-01T02:00:00-0230": "2026-01-01T04:30:00+00:00",
    "2026-01-05T00:00:00+99:99": "2025-12-31T19:21:00+00:00",
    "2026-01-01T00:00:00": "2026-01-01T00:00:00",
    "2026-01-01T00:00:00.50": "2026-01-01T00:00:00.5",
    "2026-01-01T24:00:00Z": "2026-01-02T00:00:00Z",
    "2026-12-31T24:00:00.000": "2027-01-01T00:00:00",
    "0001-01-01T00:00:00Z": "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+02:00": "0001-01-01T00:00:00+00:00",
    "9999-12-31T23:59:59.9999999Z": "9999-12-31T23:59:59.9999999Z",
    "9999-12-31T23:00:00-02:00": "9999-12-31T23:59:59.9999999+00:00",
    # Two digits behind the fraction, or the seconds, are minutes of no zone.
    "2026-01-01T00:00:00.123456789": "2026-01-01T00:00:00.1234567",
    "2026-01-01T00:00:0059": "2026-01-01T00:00:00",
    "2026-01-01T00:00:00:59": "2026-01-01T00:00:00",
    "2026-01-01T00:00:00:": "2026-01-01T00:00:00",
    "/Date(0)/": "1970-01-01T00:00:00Z",
    "/Date(-1)/": "1969-12-31T23:59:59.999Z",
    "/Date(1795001405600)/": "2026-11-18T11:30:05.6Z",
    "/Date(1795001405600+0200)/": "2026-11-18T11:30:05.6+00:00",
    "/Date(0+-5)/": "1970-01-01T00:00:00+00:00",
    "/Date(0--5)/": "1970-01-01T00:00:00+00:00",
    "/Date(-0000000000000000001)/": "1969-12-31T23:59:59.999Z",
}
LEFT_ALONE = [
    "2026-02-30T00:00:00Z",
    "2026-01-01",
    "2026-01-01T00:00",
    "2026-01-01t00:00:00Z",
    "2026-01-01 00:00:00Z",
    "at 2026-01-01T00:00:00.0Z",
    "2026-01-01T00:00:00.Z",
    "2026-01-01T00:00:00.12345678",
    "2026-01-01T00:00:00.12345678Z",
    "2026-01-01T00:00:00.123456789Z",
    "2026-01-01T00:00:00.1234567890Z",
    "2026-01-01T00:00:00+2",
    "2026-01-01T00:00:00+02:5",
    "2026-01-01T00:00:00 ",
    "2026-01-01T25:00:00Z",
    "2026-01-01T24:00:01Z",
    "2026-01-01T24:00:00.1Z",
    "2026-01-01T00:00:60Z",
    "0000-01-01T00:00:00Z",
    "٢٠٢٦-01-01T00:00:00.0Z",
    "/Date()/",
    "/Date(x)/",
    "/Date(0)",
    "/Date(0+x)/",
    "/Date(0-02+03)/",
    "/Date(99999999999999999999)/",
    "/Date(00000000000000000001)/",
    "/Date(0+1)/",
]
# A year that there is not: the library fails, and with it the range.
STOPPING = ["/Date(-80330870785908)/", "/Date(253402300800000)/", "9999-12-31T24:00:00Z"]


@pytest.mark.parametrize("text", REWRITTEN)
def test_times_are_rewritten(text: str) -> None:
    """Wherever they stand in the document."""
    expected = REWRITTEN[text]
    assert rewritten(text) == expected
    assert as_host_rewrites({"a": [text], "n": 1}) == {"a": [expected], "n": 1}


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_other_texts_are_not(text: str) -> None:
    """Nor are names."""
    assert rewritten(text) == text
    assert as_host_rewrites({"2026-01-01T00:00:00.0Z": text}) == {"2026-01-01T00:00:00.0Z": text}


@pytest.mark.parametrize("text", STOPPING)
def test_a_year_that_there_is_not_is_an_error_of_the_host(text: str) -> None:
    """No document with it reaches a function, so a comparison leaves it as it is."""
    with pytest.raises(NoSuchDateError):
        rewritten(text)
    assert as_host_rewrites([text]) == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-07-01T00:00:00+02:00", "2026-07-01T01:00:00+03:00"),
        ("2026-01-01T00:00:00-02:00", "2026-01-01T04:00:00+02:00"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00", "2026-01-01T00:00:00"),
        ("/Date(0+0000)/", "1970-01-01T02:00:00+02:00"),
    ],
)
def test_an_offset_becomes_that_of_the_machine(text: str, expected: str) -> None:
    """Summer and winter; what says that it is UTC stays UTC."""

    def offset_at(instant: datetime) -> timedelta:
        return timedelta(hours=3 if instant.month == 6 else 2)

    assert rewritten(text, offset_at) == expected


@given(
    seconds=st.integers(0, 4_000_000_000),
    microseconds=st.integers(0, 999_999),
    offset_minutes=st.integers(-14 * 60, 14 * 60),
)
def test_the_instant_stays_the_same(seconds: int, microseconds: int, offset_minutes: int) -> None:
    """Whatever the offset."""
    zone = timezone(timedelta(minutes=offset_minutes))
    moment = datetime.fromtimestamp(seconds, zone).replace(microsecond=microseconds)
    assert datetime.fromisoformat(as_host_rewrites(moment.isoformat())) == moment
