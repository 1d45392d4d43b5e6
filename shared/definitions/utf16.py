"""UTF-16 as the Table service uses it: keys are ordered, and texts are counted, by UTF-16 code units.

Python orders and counts by code points, which differs for characters beyond U+FFFF. No other module knows how. A lone
surrogate is one unit here; what must not contain one is checked elsewhere.
"""

from __future__ import annotations

# Not `str.encode`: it looks up the codec by name each time, which takes as long again.
from codecs import utf_16_be_encode, utf_16_le_decode, utf_16_le_encode


def utf16_order(text: str) -> bytes:
    """The units of a text as bytes that compare as the Table service compares keys."""
    return utf_16_be_encode(text, "surrogatepass")[0]


def utf16_length(text: str) -> int:
    """The length of a text in units."""
    return len(text) if text.isascii() else len(utf_16_le_encode(text, "surrogatepass")[0]) // 2


def utf16_cut(text: str, length: int) -> str:
    """The first `length` units of a text, or one fewer where that would split a surrogate pair."""
    if text.isascii():
        return text[:length]
    return utf_16_le_decode(utf_16_le_encode(text, "surrogatepass")[0][: length * 2], "ignore", True)[0]
