"""NCRONTAB schedules: six fields, `{second} {minute} {hour} {day} {month} {day of week}`, or five without seconds.

A field is `*`, numbers, names of months or days, ranges `a-b`, steps `*/n`, `a/n`, `a-b/n`, and lists of these.
Unlike in Unix cron, the day of month and the day of week must both fit. A time span `hh:mm:ss` is an interval.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from local.host.configuration import time_span_seconds
from local.process.errors import LocalRunError

MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
DAYS = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}

# The longest gap between two fitting days: 29 February on one weekday, across a century that skips a leap year.
SEARCH_DAYS = 366 * 41


@dataclass(frozen=True, slots=True)
class ScheduleField:
    """One field of a schedule: its name, its limits and the names it knows."""

    name: str
    lowest: int
    highest: int
    names: dict[str, int]


FIELDS = (
    ScheduleField("second", 0, 59, {}),
    ScheduleField("minute", 0, 59, {}),
    ScheduleField("hour", 0, 23, {}),
    ScheduleField("day", 1, 31, {}),
    ScheduleField("month", 1, 12, MONTHS),
    ScheduleField("day of week", 0, 6, DAYS),
)
_ITEM = re.compile(r"(?P<first>\*|\w+)(?:-(?P<last>\w+))?(?:/(?P<step>\d+))?")


@dataclass(frozen=True, slots=True)
class Crontab:
    """A schedule of fitting seconds, minutes, hours, days, months and weekdays."""

    seconds: list[int]
    minutes: list[int]
    hours: list[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]

    def next_after(self, moment: datetime) -> datetime | None:
        """The first fitting second after `moment`; none when no day ever fits."""
        start = moment.replace(microsecond=0) + timedelta(seconds=1)
        for day_number in range(SEARCH_DAYS):
            midnight = start.replace(hour=0, minute=0, second=0) + timedelta(days=day_number)
            if not self._fits_day(midnight):
                continue
            found = self._first_in_day(midnight, start if day_number == 0 else midnight)
            if found is not None:
                return found
        return None

    def _fits_day(self, day: datetime) -> bool:
        # Sunday is 0 in a schedule; isoweekday() calls it 7.
        return day.month in self.months and day.day in self.days and day.isoweekday() % 7 in self.weekdays

    def _first_in_day(self, midnight: datetime, earliest: datetime) -> datetime | None:
        return next(
            (
                moment
                for hour in self.hours
                if hour >= earliest.hour
                for minute in self.minutes
                for second in self.seconds
                if (moment := midnight.replace(hour=hour, minute=minute, second=second)) >= earliest
            ),
            None,
        )


@dataclass(frozen=True, slots=True)
class Interval:
    """A schedule that repeats after a number of seconds."""

    seconds: float

    def next_after(self, moment: datetime) -> datetime:
        """One interval after `moment`."""
        return moment + timedelta(seconds=self.seconds)


def parse(text: str) -> Crontab | Interval:
    """The schedule that a timer trigger declares."""
    parts = text.split()
    if len(parts) == 1 and ":" in text:
        return Interval(time_span_seconds(text))
    if len(parts) not in (5, 6):
        raise LocalRunError(
            f"The schedule {text!r} has {len(parts)} fields; write six: second minute hour day month weekday."
        )
    if len(parts) == 5:
        parts = ["0", *parts]
    seconds, minutes, hours, days, months, weekdays = (
        _field(part, field, text) for part, field in zip(parts, FIELDS, strict=True)
    )
    return Crontab(
        sorted(seconds),
        sorted(minutes),
        sorted(hours),
        frozenset(days),
        frozenset(months),
        frozenset(weekdays),
    )


def _field(text: str, field: ScheduleField, schedule: str) -> set[int]:
    return {number for item in text.split(",") for number in _item(item, field, schedule)}


def _item(text: str, field: ScheduleField, schedule: str) -> range:
    match = _ITEM.fullmatch(text)
    if match is None:
        raise _bad(text, field, schedule)
    step = int(match["step"] or 1)
    if match["first"] == "*":
        first, last = field.lowest, field.highest
    else:
        first = _number(match["first"], field, schedule)
        last = _number(match["last"], field, schedule) if match["last"] else first
        if match["step"] and not match["last"]:
            last = field.highest
    if first > last or step < 1:
        raise _bad(text, field, schedule)
    return range(first, last + 1, step)


def _number(text: str, field: ScheduleField, schedule: str) -> int:
    number = field.names.get(text.lower(), int(text) if text.isdecimal() else -1)
    if not field.lowest <= number <= field.highest:
        raise _bad(text, field, schedule)
    return number


def _bad(text: str, field: ScheduleField, schedule: str) -> LocalRunError:
    return LocalRunError(
        f"The schedule {schedule!r} has {text!r} as its {field.name}; "
        f"write *, or numbers from {field.lowest} to {field.highest}, such as */5 or 1-3."
    )
