"""Periods: the days, weeks or months whose entries have a table of their own, which is dropped whole. Pure.

An entry belongs to the period that it expires in: UTC days, weeks from Monday, months. The first day of that period is
the beginning of its PartitionKey, so that the key alone tells the table; an entry that does not expire is undated.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.definitions.model import Index, PeriodLength

# Stands where others have the first day of their period.
UNDATED: Final = "00000000"
# The day and the blank behind it.
PERIOD_UNITS: Final = 9
# A period is over so long after its end. All of its entries have expired by then, on every clock: nothing else depends
# on how long this is.
GRACE_SECONDS: Final = 3600

_DAY_SECONDS: Final = 86_400
_EPOCH: Final = date(1970, 1, 1)
_FIRST_DAY: Final = (date.min - _EPOCH).days
_LAST_DAY: Final = (date.max - _EPOCH).days
_FORM: Final = re.compile(r"([0-9]{8}) ")
# A generation's own name ends with hex digits, or with `r` and its attempt.
_TABLE: Final = re.compile(r"([a-z0-9]*[0-9a-f]{16}(?:r[0-9]+)?)p([0-9]{8})?")


@lru_cache(maxsize=4096)
def _start(length: PeriodLength, day: int) -> str:
    """The first day of the period of a day, counted from 1970; what is beyond all calendars is at their end."""
    at = _EPOCH + timedelta(days=min(max(day, _FIRST_DAY), _LAST_DAY))
    if length == "week":
        at -= timedelta(days=at.weekday())
    elif length == "month":
        at = at.replace(day=1)
    return f"{at.year:04d}{at.month:02d}{at.day:02d}"


@lru_cache(maxsize=4096)
def _end_day(length: PeriodLength, start: str) -> int:
    """The first day after a period, counted from 1970; ValueError for what is no day."""
    at = date(int(start[:4]), int(start[4:6]), int(start[6:]))
    days = {"day": 1, "week": 7, "month": monthrange(at.year, at.month)[1]}[length]
    return (at - _EPOCH).days + days


def without_period(table: str) -> str:
    """The name of the generation's own table, given any table of it or the beginning of their names."""
    match = _TABLE.fullmatch(table)
    return table if match is None else match[1]


def is_of_period(table: str) -> bool:
    """Whether the table is that of a period."""
    match = _TABLE.fullmatch(table)
    return match is not None and match[2] is not None


class Periods:
    """The periods of one index."""

    __slots__ = ("_after_seconds", "_length")

    def __init__(self, length: PeriodLength, after_seconds: int) -> None:
        self._length: PeriodLength = length
        self._after_seconds = after_seconds

    @classmethod
    def of(cls, index: Index) -> Periods | None:
        """The periods of an index; None when its entries are all in one table."""
        expire = index.expire
        return None if expire is None or expire.tables is None else cls(expire.tables, expire.after_seconds)

    def start(self, expires_seconds: float | None) -> str:
        """The period of an entry that expires at this time, or never."""
        return UNDATED if expires_seconds is None else _start(self._length, int(expires_seconds // _DAY_SECONDS))

    def end_seconds(self, start: str) -> int:
        """When a period ends, in seconds since 1970."""
        return _end_day(self._length, start) * _DAY_SECONDS

    def is_over(self, start: str, now_seconds: float) -> bool:
        """Whether a period is over: its entries are neither shown nor written any more."""
        return start != UNDATED and self.end_seconds(start) + GRACE_SECONDS <= now_seconds

    def oldest_open(self, now_seconds: float) -> str:
        """The first period that is not over."""
        return self.start(now_seconds - GRACE_SECONDS)

    def near(self, now_seconds: float) -> tuple[str, ...]:
        """The periods from now to the time that an entry of now expires, and one ahead."""
        starts = [self.start(now_seconds)]
        while self.end_seconds(starts[-1]) <= now_seconds + self._after_seconds:
            starts.append(self.start(self.end_seconds(starts[-1])))
        return (*starts, self.start(self.end_seconds(starts[-1])))

    def starts_in(self, tables: Iterable[str], base: str) -> list[str]:
        """The periods whose tables are among these, given the generation's own table."""
        found = [name.removeprefix(base)[1:] for name in tables if name.startswith(f"{base}p") and is_of_period(name)]
        return sorted(start for start in found if self._is_start(start))

    def _is_start(self, start: str) -> bool:
        try:
            return self.start(self.end_seconds(start) - 1) == start
        except ValueError:
            return False


def period_of(partition_key: str) -> str:
    """The period that a PartitionKey begins with; ValueError when it begins with none."""
    match = _FORM.match(partition_key)
    if match is None:
        raise ValueError(f"{partition_key!r} begins with no period")
    return match[1]


def table_of(base: str, start: str) -> str:
    """The table of a period, given the generation's own."""
    return base if start == UNDATED else f"{base}p{start}"
