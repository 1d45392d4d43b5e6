"""UTF-16 as the Table service uses it: keys are ordered, and texts are counted, by UTF-16 code units.

Python orders and counts by code points, which differs for characters beyond U+FFFF. Only this module knows how. A lone
surrogate is one unit here; what must not contain one is checked elsewhere.
"""

from __future__ import annotations

from operator import methodcaller
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

# A text of few characters fits whatever it is made of: no need to count its units.
CHARACTER_UNITS_MAX: Final = 2
_UNIT_BYTES: Final = 2

# The units of a text, as bytes that compare as the Table service compares keys. Not a function of ours: this is the key
# of sorts, and a call of Python code each time would cost more than the encoding.
utf16_order: Final[Callable[[str], bytes]] = methodcaller("encode", "utf-16-be", "surrogatepass")


def utf16_length(text: str) -> int:
    """The length of a text in units."""
    return len(text) if text.isascii() else len(utf16_order(text)) // _UNIT_BYTES


def utf16_cut(text: str, length: int) -> str:
    """The first `length` units of a text, or one fewer where that would split a surrogate pair."""
    if text.isascii():
        return text[:length]
    return utf16_order(text)[: length * _UNIT_BYTES].decode("utf-16-be", "ignore")
