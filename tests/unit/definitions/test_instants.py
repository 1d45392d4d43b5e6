"""How answers spell times."""

from __future__ import annotations

from shared.definitions.instants import instant_text, normalise

SECONDS = 1_794_923_516.7625


def test_a_time_is_spelled_in_whole_seconds() -> None:
    """The fraction is cut, not rounded; the result is in normal form."""
    assert instant_text(SECONDS) == "2026-11-17T13:51:56Z" == normalise(instant_text(SECONDS))


def test_an_answer_may_need_milliseconds_and_an_offset() -> None:
    """A switch happens within a second, and its answer has always had an offset."""
    assert instant_text(SECONDS, "milliseconds", utc="+00:00") == "2026-11-17T13:51:56.762+00:00"
