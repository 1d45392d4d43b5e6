"""The types of key parts: which JSON values each accepts, and in which order they stand.

A value of another JSON type is coerced when nothing is lost (`300` is the string "300", "12" the integer 12);
otherwise `coerce` answers `REFUSED` and the caller says for which index and path.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Final
from unicodedata import combining, is_normalized, normalize

from shared.definitions.instants import normalise as normalise_instant
from shared.definitions.utf16 import utf16_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from shared.definitions.model import PartType, PartValue

# CPython refuses to turn longer integers into text, and no key could hold one anyway.
INTEGER_DIGITS_MAX: Final = 4000


class Refused(Enum):
    """The answer for a value that has no counterpart in the wanted type."""

    REFUSED = "refused"


REFUSED: Final = Refused.REFUSED

_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,3999})")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,3999})(?:\.[0-9]{1,3999})?(?:[eE][+-]?[0-9]{1,4})?")
_INTEGER_LIMIT: Final = 10**INTEGER_DIGITS_MAX
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
# Bringing the marks of a letter into their order takes time that grows with the square of their number: hours for a
# text of nothing but marks, and nobody else runs meanwhile.
_MARKS_MAX: Final = 100
_TOO_MANY_MARKS: Final = bytes([True]) * (_MARKS_MAX + 1)
# Letters by themselves, marks as soon as they are taken apart.
_HIDDEN_MARKS: Final = dict.fromkeys(map(ord, "\u0f73\u0f75\u0f81"), "\u0f71")


def plain_number(value: float) -> str:
    """A finite number as text, the same for 12 and 12.0: hosts and services rewrite one as the other."""
    whole = int(value)
    return str(whole) if whole == value else str(value)


def to_string(value: object) -> str | Refused:
    """Strings without lone surrogates, and other scalars as JSON writes them."""
    if isinstance(value, str):
        return value if value.isascii() or _LONE_SURROGATE.search(value) is None else REFUSED
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) < _INTEGER_LIMIT else REFUSED
    if isinstance(value, float) and math.isfinite(value):
        return plain_number(value)
    return REFUSED


def to_integer(value: object) -> int | Refused:
    """Integers of any usual size, integral doubles, and the canonical text of an integer."""
    if type(value) is int:
        return value if abs(value) < _INTEGER_LIMIT else REFUSED
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    return REFUSED


def to_number(value: object) -> float | Refused:
    """Finite doubles, and integers and texts that a double holds without loss. There is one zero."""
    if type(value) is float:
        return value + 0.0 if math.isfinite(value) else REFUSED
    if type(value) is int:
        return _exact_double(value)
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        number = float(value)
        lossless = math.isfinite(number) and Decimal(repr(number)) == Decimal(value)
        return number + 0.0 if lossless else REFUSED
    return REFUSED


def _exact_double(value: int) -> float | Refused:
    try:
        number = float(value)
    except OverflowError:
        return REFUSED
    return number if int(number) == value else REFUSED


def to_boolean(value: object) -> bool | Refused:
    """true, false and their texts; 0 and 1 are numbers."""
    if isinstance(value, bool):
        return value
    if value == "true":
        return True
    return False if value == "false" else REFUSED


def to_datetime(value: object) -> str | Refused:
    """ISO 8601 text, normalised to UTC. A number would be a guess: seconds or milliseconds?"""
    if not isinstance(value, str):
        return REFUSED
    instant = normalise_instant(value)
    return REFUSED if instant is None else instant


COERCIONS: Final[dict[PartType, Callable[[object], PartValue | Refused]]] = {
    "string": to_string,
    "integer": to_integer,
    "number": to_number,
    "boolean": to_boolean,
    "datetime": to_datetime,
}


def coerce(part_type: PartType, value: object) -> PartValue | Refused:
    """The value as this type, or REFUSED when something would be lost."""
    return COERCIONS[part_type](value)


def coerce_all(values: Iterable[tuple[PartType, object]]) -> list[PartValue | Refused]:
    """Each value as its type, or REFUSED."""
    return [COERCIONS[part_type](value) for part_type, value in values]


def folded(text: str) -> str:
    """What `fold: case` compares: NFC and case folded, so that spellings of one word are equal. What has more marks on
    a letter than any word keeps its spelling."""
    if text.isascii():
        return text.lower()
    return _nfc(_nfc(text).casefold())


def _nfc(text: str) -> str:
    if len(text) > _MARKS_MAX and _has_too_many_marks(text):
        return text
    return text if is_normalized("NFC", text) else normalize("NFC", text)


def _has_too_many_marks(text: str) -> bool:
    return _TOO_MANY_MARKS in bytes(map(bool, map(combining, text.translate(_HIDDEN_MARKS))))


def sort_rank(part_type: PartType, value: PartValue) -> Any:
    """Something that Python orders as values of this type stand: strings in UTF-16 code unit order."""
    if not isinstance(value, str):
        return value
    # The closing Z of an instant would sort after the point of a fraction.
    text = value[:-1] if part_type == "datetime" else value
    return utf16_order(text)
