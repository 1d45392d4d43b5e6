"""Times inside documents are rewritten as the real host's JSON library does it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.entries.changes.host_dates import as_host_rewrites


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00.1234567890Z", "2026-01-01T00:00:00.1234567Z"),
        ("2026-01-01T01:30:00.10+01:30", "2026-01-01T00:00:00.1+00:00"),
        ("2026-01-01T00:00:00", "2026-01-01T00:00:00"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00+02:00", "0001-01-01T00:00:00+02:00"),
        ("2026-02-30T00:00:00Z", "2026-02-30T00:00:00Z"),
        ("2026-01-01", "2026-01-01"),
        ("at 2026-01-01T00:00:00.0Z", "at 2026-01-01T00:00:00.0Z"),
    ],
)
def test_only_whole_times_are_rewritten(text: str, expected: str) -> None:
    """Wherever they stand in the document."""
    assert as_host_rewrites({"a": [text], "n": 1}) == {"a": [expected], "n": 1}


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
