"""Numbers of facts as exact decimals: sums of doubles would depend on their order, and would not come back to zero.

A number stands for the shortest decimal that gives its double, which is what its JSON shows. Sums of them are exact:
from 1e308 down to the last digit of 5e-324 there are fewer than 700 digits.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal, Inexact, Overflow
from typing import Final

ZERO: Final = Decimal(0)
_LARGEST: Final = int(float.fromhex("0x1.fffffffffffffp+1023"))
_EXACT: Final = Context(prec=1000, Emax=999_999, Emin=-999_999, traps=[Inexact, Overflow])
# More digits than a double has.
_QUOTIENTS: Final = Context(prec=40, Emax=999_999, Emin=-999_999)


def exact(value: object) -> Decimal | None:
    """A number of a fact as a decimal; None for what is no finite number."""
    if type(value) is int:
        return plain(Decimal(value)) if abs(value) <= _LARGEST else None
    if type(value) is float and math.isfinite(value):
        return plain(Decimal(repr(value)))
    return None


def plain(value: Decimal) -> Decimal:
    """The one spelling of a decimal: no zeros at the end, one zero."""
    return _EXACT.normalize(value) if value else ZERO


def add(first: Decimal, second: Decimal) -> Decimal:
    """The exact sum."""
    return plain(_EXACT.add(first, second))


def subtract(first: Decimal, second: Decimal) -> Decimal:
    """The exact difference."""
    return plain(_EXACT.subtract(first, second))


def read(text: str) -> Decimal:
    """The decimal that `str` of a plain one gave."""
    return Decimal(text)


def mean(total: Decimal, count: int) -> int | float | None:
    """A sum by a count as a number of JSON; None when nothing was counted."""
    return shown(_QUOTIENTS.divide(total, Decimal(count))) if count else None


def shown(value: Decimal) -> int | float:
    """A decimal as a number of JSON: whole numbers with all their digits, others as the nearest double."""
    if value == value.to_integral_value():
        return int(value)
    number = float(value)
    return number if math.isfinite(number) else int(value)
