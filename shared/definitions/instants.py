"""ISO 8601 instants: any spelling in, one normal UTC form out, nothing lost.

The normal form is `2024-05-01T12:00:00Z`, with as many digits of a second as are needed: fractions are kept
as text, because `datetime` would silently cut them at microseconds. `instant_text` spells the times of answers.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

_ISO: Final = re.compile(
    r"(\d{4})-?(\d\d)-?(\d\d)"
    r"(?:[Tt ](\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,](\d+))?)?)?"
    r"([Zz]|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
_NORMAL: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d*[1-9])?Z", re.ASCII)
_BEGINNING: Final = datetime(1, 1, 1, tzinfo=UTC)
_SECONDS_BEFORE_1970: Final = (datetime(1970, 1, 1, tzinfo=UTC) - _BEGINNING) // timedelta(seconds=1)


def normalise(text: str) -> str | None:
    """The instant in normal form, naive meaning UTC; None when it is no ISO 8601 time of years 1 to 9999."""
    if _NORMAL.fullmatch(text):
        # Most instants are in normal form already; it remains to be seen whether there is such a day and
        # hour.
        return text if _exists(text[:19]) else None
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        moment = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=UTC
        )
        if zone is not None and zone not in "Zz":
            moment -= _offset(zone)
    except (ValueError, OverflowError):
        return None
    digits = fraction.rstrip("0") if fraction else ""
    return f"{moment.isoformat()[:19]}{'.' + digits if digits else ''}Z"


def _exists(moment: str) -> bool:
    try:
        datetime.fromisoformat(moment)
    except ValueError:
        return False
    return True


def _offset(zone: str) -> timedelta:
    """The offset that `+hh`, `+hhmm` or `+hh:mm` means; ValueError for one that no clock has."""
    hours, minutes = int(zone[1:3]), int(zone[-2:]) if len(zone) > 3 else 0
    if hours > 23 or minutes > 59:
        raise ValueError(zone)
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if zone[0] == "-" else offset


def instant_text(
    seconds: float,
    precision: Literal["seconds", "milliseconds"] = "seconds",
    utc: Literal["Z", "+00:00"] = "Z",
) -> str:
    """A time in seconds since 1970 as an answer spells it. `utc` is how an answer has always written its zone."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec=precision).removesuffix("+00:00") + utc


def seconds_since_year_one(instant: str) -> tuple[int, str]:
    """Whole seconds from 0001-01-01 to a normalised instant, and the digits of its fraction."""
    moment = datetime.fromisoformat(instant[:19]).replace(tzinfo=UTC)
    return (moment - _BEGINNING) // timedelta(seconds=1), instant[20:-1]


def unix_seconds(instant: str) -> int:
    """Seconds since 1970 of a normalised instant; a fraction of a second counts as a whole one."""
    seconds, fraction = seconds_since_year_one(instant)
    return seconds - _SECONDS_BEFORE_1970 + bool(fraction)
