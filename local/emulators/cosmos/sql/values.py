"""Values of the query language: JSON plus undefined, with Cosmos DB's own equality and order.

Equality of two defined values is true or false, also across types; order exists within one type only. (The
published table says "undefined" for equality across types too, yet `c.x != null` finds strings in the
service and in Microsoft's own reference evaluator; this follows them.)
"""

from __future__ import annotations

import math
from enum import Enum
from typing import Any


class Undefined(Enum):
    """The value of a property that is not there."""

    UNDEFINED = "undefined"


UNDEFINED = Undefined.UNDEFINED

# Whole numbers are exact in a double up to here.
_EXACT = 2**53
# ORDER BY, MIN and MAX put values of different types in this order.
_RANKS: dict[type, int] = {Undefined: 0, type(None): 1, bool: 2, int: 4, float: 4, str: 5, list: 6, dict: 7}


def is_number(value: Any) -> bool:
    """Whether a value is a number; for Python a boolean would be one, too."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def as_number(value: float) -> int | float | Undefined:
    """A result of arithmetic in the form that JSON would show: a whole number without a fraction."""
    if isinstance(value, int):
        return value if -_EXACT <= value <= _EXACT else float(value)
    if not math.isfinite(value):
        return UNDEFINED
    return int(value) if value.is_integer() and abs(value) <= _EXACT else value


def rank(value: Any) -> int:
    """The place of a value's type in the order of types."""
    return _RANKS[type(value)]


def equals(left: Any, right: Any) -> bool | Undefined:
    """`=`: undefined if either side is, else whether type and value agree, deeply."""
    is_known = left is not UNDEFINED and right is not UNDEFINED
    return same(left, right) if is_known else UNDEFINED


def same(left: Any, right: Any) -> bool:
    """Deep equality of two defined values, never mistaking true for 1."""
    if rank(left) != rank(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(value, right[name]) for name, value in left.items())
    return bool(left == right)


def compare(left: Any, right: Any) -> int | Undefined:
    """-1, 0 or 1 within one scalar type; undefined across types and for arrays and objects."""
    if rank(left) != rank(right) or left is UNDEFINED or isinstance(left, (list, dict)):
        return UNDEFINED
    if left is None:
        return 0
    return int(left > right) - int(left < right)


def sort_key(value: Any) -> tuple[int, Any]:
    """Orders values of every type; arrays among themselves, and objects, count as equal."""
    place = rank(value)
    return (place, value) if place in (2, 4, 5) else (place, 0)
