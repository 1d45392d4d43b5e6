"""Versions: fixed-width text that sorts as a source orders the changes of a fact.

35 digits of clock, one digit that puts a delete after an upsert of the same clock value, and eight hex
digits of the document's digest, so that two different documents never share a version. Versions are
compared only within one source, whose clock is always of the same kind:

    Cosmos DB    _ts (16 digits), _lsn (19)
    Event Hubs   enqueued microseconds since 1970 (16), sequence number (19)
    Debezium     place in the database's log (19), milliseconds since 1970 (16); without a log as Event Hubs
    declared     whole number, or seconds since year 1 (26), decimals (9)

The first number of a clock of Cosmos DB or Event Hubs is its ticks, the second its counter. No other module knows how
a version is laid out.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from shared.definitions.instants import normalise, seconds_since_year_one

if TYPE_CHECKING:
    from collections.abc import Iterable

_COMPLEMENT: Final = str.maketrans("0123456789abcdef", "fedcba9876543210")
_DECIMALS: Final = 9
_TICKS_DIGITS: Final = 16
_CLOCK_DIGITS: Final = 35
_DECLARED_NUMBER: Final = re.compile(r"\d{1,26}(?:\.\d{1,9})?", re.ASCII)
_TICK_LIMIT: Final = 10**16
_COUNTER_LIMIT: Final = 10**19
_EXACT_MAX: Final = 2**53
# The digest of a delete, and the clock of what is only projected.
NO_DOCUMENT: Final = "00000000"
NO_CLOCK: Final = "0" * _CLOCK_DIGITS


def ticks_clock(ticks: object, counter: object) -> str | None:
    """The clock of Cosmos (`_ts`, `_lsn`) or Event Hubs (microseconds, sequence number), or None."""
    whole_ticks, whole_counter = _whole(ticks), _whole(counter)
    if whole_ticks is None or whole_counter is None:
        return None
    if not (0 <= whole_ticks < _TICK_LIMIT and 0 <= whole_counter < _COUNTER_LIMIT):
        return None
    return f"{whole_ticks:016d}{whole_counter:019d}"


def log_clock(position: object, ticks: object) -> str | None:
    """The clock of a database's log (position, milliseconds): the log decides before the time, or None."""
    clock = ticks_clock(ticks, position)
    return None if clock is None else clock[_TICKS_DIGITS:] + clock[:_TICKS_DIGITS]


def _whole(value: object) -> int | None:
    """A whole number. The Cosmos DB extension hands over that of a delete as a double, which is exact up to 2**53."""
    if type(value) is int:
        return value
    return int(value) if type(value) is float and value.is_integer() and abs(value) <= _EXACT_MAX else None


def ticks_alone(ticks: object) -> str | None:
    """How the clock of `ticks_clock` begins, when its counter is not known; or None."""
    clock = ticks_clock(ticks, 0)
    return None if clock is None else clock[:_TICKS_DIGITS]


def declared_clock(value: object) -> str | None:
    """The clock of a declared version: a number from 0 up, or an ISO 8601 time; None for anything else."""
    text = _plain_decimal(value)
    if _DECLARED_NUMBER.fullmatch(text):
        whole, _, decimals = text.partition(".")
        return whole.zfill(26) + decimals.ljust(_DECIMALS, "0")
    instant = normalise(text)
    if instant is None:
        return None
    seconds, decimals = seconds_since_year_one(instant)
    return f"{seconds:026d}{decimals.ljust(_DECIMALS, '0')}" if len(decimals) <= _DECIMALS else None


def _plain_decimal(value: object) -> str:
    """A number without exponent, a text as it is, "" for everything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e26:
        return ""
    return format(Decimal(repr(value)).normalize(), "f")


def version(clock: str, digest: str, *, is_delete: bool) -> str:
    """The version of a change: its clock, what it is, and which document."""
    return f"{clock}{'1' if is_delete else '0'}{digest}"


def clock_of(version_text: str) -> str:
    """The clock of a version."""
    return version_text[:_CLOCK_DIGITS]


def ticks_of(version_text: str) -> int:
    """The ticks of a version that has any: seconds since 1970 of Cosmos DB, microseconds of Event Hubs."""
    return int(version_text[:_TICKS_DIGITS])


def lsn_of(version_text: str) -> int:
    """The `_lsn` of a version of Cosmos DB."""
    return int(version_text[_TICKS_DIGITS:_CLOCK_DIGITS])


def with_ticks_of(version_text: str, other: str) -> str:
    """The version with the ticks of another one."""
    return other[:_TICKS_DIGITS] + version_text[_TICKS_DIGITS:]


def without_digest(version_text: str) -> str:
    """The clock of a version, and whether it is a delete: what does not depend on which copy of a document was read."""
    return version_text[: _CLOCK_DIGITS + 1]


def is_clock_before(clock: str, version_text: str) -> bool:
    """Whether a clock, or its ticks alone, is before that of a version."""
    return clock < version_text[: len(clock)]


def next_version(version_before: str) -> str:
    """The least version above this one. No change has it, but for another document of the same clock value whose
    digest is the next number."""
    return f"{clock_of(version_before)}{int(version_before[_CLOCK_DIGITS:], 16) + 1:09x}"


def newest_of_same_clock(version_claimed: str, others: Iterable[str]) -> str:
    """The newest of a version and of those that were made just above it with `next_version`."""
    clock = clock_of(version_claimed)
    return max([version_claimed, *(other for other in others if clock_of(other) == clock)])


def inverted(version_or_inverted: str) -> str:
    """The digit-wise complement: newer sorts first. Its own inverse."""
    return version_or_inverted.translate(_COMPLEMENT)
