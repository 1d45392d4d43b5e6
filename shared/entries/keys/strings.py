"""Strings as key text: Table-safe, in UTF-16 code unit order, and as readable as they were.

Ordinary text stays as it is. What a key may not contain (`/ \\ # ?`, control characters) is spelled so that
it keeps its place in the order. Legend, in key order:

    ' !'          the end of a part (lower than any text, so a prefix sorts first)
    ' "00'        the control character 00, and so on to 1f
    ' $'          a space before something low: an end, a control character, or one of: space ! " # $
    ' '           any other space
    X + U+FFEE    the forbidden character after X: '"' for #, '&' for ', '.' for /, '>' for ?, '[' for \\
    '~' + U+FFEE  + two hex digits: the control characters 7f to 9f
    U+2027 U+FFEE + two hex digits: the separators U+2028 and U+2029
    U+FFED        + two hex digits: the characters U+FFED to U+FFFF, which make room for the two marks

The service itself takes quotes and separators; Azurite loses rows whose keys have them inside a transaction.
"""

from __future__ import annotations

import re
from typing import Final

from shared.definitions.utf16 import utf16_order

END: Final = " !"
# Above everything that an encoded value can begin with; below it there is nothing but encoded values.
CEILING: Final = "\uffee"
# Above every unit of an encoded value, wherever it stands: the ceiling also spells characters, these never appear.
SUMMIT: Final = "\uffef"

_SPECIAL: Final = re.compile("[\x00-\x1f\x7f-\x9f/\\\\#?'\u2028\u2029\uffed-\uffff]| (?=[\x00- !\"#$]|\\Z)")
_DESCENDING_END: Final = "x"
_AFTER_DESCENDING_END: Final = "y"
_COMPLEMENT: Final = bytes(range(0xFF, -1, -1))


def _escapes() -> dict[str, str]:
    table = {" ": " $", "#": '"' + CEILING, "/": "." + CEILING, "?": ">" + CEILING, "\\": "[" + CEILING}
    table["'"] = "&" + CEILING
    table |= {chr(code): f' "{code:02x}' for code in range(0x20)}
    table |= {chr(code): f"\u2027{CEILING}{code & 0xFF:02x}" for code in (0x2028, 0x2029)}
    table |= {chr(code): f"~{CEILING}{code:02x}" for code in range(0x7F, 0xA0)}
    table |= {chr(code): f"\uffed{code & 0xFF:02x}" for code in range(0xFFED, 0x10000)}
    return table


_ESCAPES: Final = _escapes()
_LETTERS: Final = {spelling: letter for letter, spelling in _ESCAPES.items()}
_ESCAPED: Final = re.compile(
    f' \\$| "[0-9a-f]{{2}}|~{CEILING}[0-9a-f]{{2}}|\u2027{CEILING}[0-9a-f]{{2}}|\uffed[0-9a-f]{{2}}|["&.>[]{CEILING}'
)


def escape(text: str) -> str:
    """The text with what a key may not contain spelled out; the end is not marked yet."""
    if _SPECIAL.search(text) is None:
        return text
    return _SPECIAL.sub(lambda match: _ESCAPES[match[0]], text)


def unescape(spelled: str) -> str:
    """The text that was spelled so."""
    return _ESCAPED.sub(lambda match: _LETTERS[match[0]], spelled)


def escaped_prefix(prefix: str) -> tuple[str, str]:
    """The key texts from here (inclusive) to there (exclusive) are those of strings with this prefix."""
    if not prefix:
        return END, CEILING
    if prefix[-1] != " ":
        spelled = escape(prefix)
        return spelled, spelled + CEILING
    # How a space is spelled depends on what follows it: from ` $` on, all of them.
    spelled = escape(prefix + "x")[:-1]
    return spelled + "$", spelled + CEILING


def descending(text: str) -> str:
    """The text for a descending part: each UTF-16 unit complemented in hex, the end last."""
    return _complemented(text) + _DESCENDING_END


def _complemented(text: str) -> str:
    """Each UTF-16 unit as four hex digits of its complement."""
    return utf16_order(text).translate(_COMPLEMENT).hex()


def descending_prefix(prefix: str) -> tuple[str, str]:
    """As `escaped_prefix`, for a descending part."""
    digits = _complemented(prefix)
    return digits, digits + _AFTER_DESCENDING_END
