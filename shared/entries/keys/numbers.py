"""Numbers as key text: any JSON integer and any finite double, in numeric order, readable when not negative.

A letter says how many digits stand before the point, then come the digits: 7 is `a7`, 1999 `d1999`, 19.5
`b19.5`. From 26 digits on the letter is `z` and the count follows in four digits; below a millionth the run
of zeros is counted. A negative number is `-`, the digit-wise complement, and `~`, so that more digits sort
lower.
"""

from __future__ import annotations

from typing import Final

_LETTERS: Final = "abcdefghijklmnopqrstuvwxy"
_LETTERED_DIGITS: Final = len(_LETTERS)
_COMPLEMENT: Final = str.maketrans("0123456789abcdefghijklmnopqrstuvwxyz", "9876543210zyxwvutsrqponmlkjihgfedcba")
_TINY: Final = "a0.000000"
_ZERO_COUNT_TOP: Final = 999


def encode_integer(value: int) -> str:
    """The key text of an integer of up to 9999 digits."""
    if value >= 0:
        return _counted(str(value), "")
    return _negative(_counted(str(-value), ""))


def encode_double(value: float) -> str:
    """The key text of a finite double, made from the shortest decimal that means it."""
    if value.is_integer() and -1e15 < value < 1e15:
        return encode_integer(int(value))
    whole, _, rest = repr(abs(value)).partition(".")
    if "e" in whole or "e" in rest:
        whole, rest = _without_exponent(whole, rest)
    body = _counted(whole, rest)
    return body if value > 0 else _negative(body)


def _without_exponent(whole: str, rest: str) -> tuple[str, str]:
    """The digits before and after the point of a decimal in scientific notation."""
    fraction, _, exponent = (rest or whole).partition("e")
    digits = whole + fraction if rest else fraction
    point = 1 + int(exponent)
    if point <= 0:
        return "0", "0" * -point + digits
    return digits[:point].ljust(point, "0"), digits[point:]


def _counted(whole: str, fraction: str) -> str:
    if len(whole) > _LETTERED_DIGITS:
        # A double that large has no fraction. Its trailing zeros say nothing that the count does not.
        return f"z{len(whole):04d}{whole.rstrip('0')}"
    if not fraction:
        return _LETTERS[len(whole) - 1] + whole
    if whole == "0" and fraction.startswith("000000"):
        digits = fraction.lstrip("0")
        return f"{_TINY}{_ZERO_COUNT_TOP - (len(fraction) - len(digits)):03d}{digits}"
    return f"{_LETTERS[len(whole) - 1]}{whole}.{fraction}"


def _negative(body: str) -> str:
    return f"-{body.translate(_COMPLEMENT)}~"
