"""A habit of the real host: by default it rewrites texts that look like times inside documents.

Its JSON library turns such a text into a time and writes it back in its own form: trailing zeros of the fraction go, an
offset becomes the machine's own, which in Azure is UTC, and `/Date(0)/` becomes ISO 8601. As a rule the instant is the
same, the text is not. A fact that is read from its container may therefore look other than the change that was applied.
`dateParseHandling: None` in host.json ends it; an app that is older, or lacks it, still has such entries.

This follows the library (`DateTimeParser` and `DateTimeUtils` of Newtonsoft.Json), oddities included: it counts in
ticks of 100 ns since year 1, takes two digits after the seconds or the fraction for minutes without an hour, and leaves
eight or more decimals with a zone alone.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    # What a machine's clock is ahead of UTC at an instant.
    OffsetAt: TypeAlias = "Callable[[datetime], timedelta]"

_TIME: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)"
    r"(?:\.(\d{1,7}+))?"
    # The zone: Z, an hour with or without minutes, or minutes alone, which mean nothing.
    r"(?:([Zz])|([+-])(\d\d)(?::?(\d\d)|:)?|:?(?:\d\d)?)",
    re.ASCII,
)
_MILLISECONDS: Final = re.compile(
    # At most 19 digits, zeros in front included; the hours of an offset may have a sign of their own.
    r"/Date\((-?\d{1,19})(\+[-\d]\d.*|-[-\d]\d[^+]*)?\)/",
    re.ASCII | re.DOTALL,
)
_UNITS_MIN, _UNITS_MAX = 19, 40
_DIGITS_KEPT: Final = 7
_SECOND: Final = 10_000_000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_LAST_TICK: Final = 3_155_378_975_999_999_999
_1970: Final = 621_355_968_000_000_000
_INT64: Final = 1 << 63
_YEAR_ONE: Final = datetime(1, 1, 1, tzinfo=UTC)


class NoSuchDateError(ValueError):
    """A text that the host's JSON library takes for a time before year 1 or after 9999, and fails on."""


def as_host_rewrites(value: Any) -> Any:
    """The value with every time in it written as the host would, on a machine whose clock is UTC."""
    if isinstance(value, str):
        try:
            return rewritten(value)
        except NoSuchDateError:
            return value
    if isinstance(value, dict):
        return {name: as_host_rewrites(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [as_host_rewrites(inner) for inner in value]
    return value


def _utc(_instant: datetime) -> timedelta:
    return timedelta(0)


def rewritten(text: str, offset_at: OffsetAt = _utc) -> str:
    """The text as the host writes it; it is another one only for times. Raises `NoSuchDateError`."""
    if text.startswith("/Date("):
        match = _MILLISECONDS.fullmatch(text)
        return text if match is None else _from_milliseconds(match, offset_at)
    if not _UNITS_MIN <= len(text) <= _UNITS_MAX:
        return text
    match = _TIME.fullmatch(text)
    ticks = None if match is None else _ticks(match)
    if match is None or ticks is None:
        return text
    if match[8]:
        return f"{_iso(ticks)}Z"
    if match[9] is None:
        return _iso(ticks)
    offset = int(match[10]) * _HOUR + int(match[11] or 0) * _MINUTE
    return _local(ticks + offset if match[9] == "-" else ticks - offset, offset_at)


def _ticks(match: re.Match[str]) -> int | None:
    """The ticks of what stands before the zone; None when there is no such day or time."""
    year, month, day, hour, minute, second = (int(match[group]) for group in range(1, 7))
    fraction = int((match[7] or "").ljust(_DIGITS_KEPT, "0"))
    if not (year >= 1 and 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1] and minute < 60 and second < 60):
        return None
    if hour > 24 or (hour == 24 and (minute or second or fraction)):
        return None
    days = date(year, month, day).toordinal() - 1
    ticks = days * _DAY + hour * _HOUR + minute * _MINUTE + second * _SECOND + fraction
    if ticks > _LAST_TICK:
        raise NoSuchDateError(match[0])
    return ticks


def _from_milliseconds(match: re.Match[str], offset_at: OffsetAt) -> str:
    """Milliseconds since 1970; with an offset, whatever it is, in the machine's zone."""
    milliseconds = int(match[1])
    if not -_INT64 <= milliseconds < _INT64:
        return match[0]
    # 64 bits, as there: what does not fit begins again at the other end.
    ticks = (milliseconds * 10_000 + _1970 + _INT64) % (2 * _INT64) - _INT64
    if not 0 <= ticks <= _LAST_TICK:
        raise NoSuchDateError(match[0])
    return _local(ticks, offset_at) if match[2] else f"{_iso(ticks)}Z"


def _local(ticks: int, offset_at: OffsetAt) -> str:
    """An instant with the machine's offset; it ends where years end."""
    within = min(max(ticks, 0), _LAST_TICK)
    try:
        offset = offset_at(_YEAR_ONE + timedelta(microseconds=within // 10))
    except (OverflowError, ValueError, OSError):  # the machine knows no zone for such a year
        offset = timedelta(0)
    minutes = int(offset.total_seconds()) // 60
    shown = min(max(ticks + minutes * _MINUTE, 0), _LAST_TICK)
    hours, rest = divmod(abs(minutes), 60)
    return f"{_iso(shown)}{'-' if minutes < 0 else '+'}{hours:02d}:{rest:02d}"


def _iso(ticks: int) -> str:
    seconds, fraction = divmod(ticks, _SECOND)
    moment = (_YEAR_ONE + timedelta(seconds=seconds)).replace(tzinfo=None)
    kept = f"{fraction:07d}".rstrip("0")
    return moment.isoformat() + (f".{kept}" if kept else "")
