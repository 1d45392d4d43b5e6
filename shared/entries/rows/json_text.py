"""JSON text that comes back as the value it was made from, or an error that says what cannot.

orjson writes and reads almost everything; what it refuses (integers over 64 bits, deep nesting) or would quietly
change (NaN, long integers when it reads) goes through the standard library, which takes five times as long.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

import orjson

# Legal in JSON, not in XML, which the Table service also speaks.
_NO_XML: Final = re.compile("[\ufffe\uffff]")
_PLAIN: Final = frozenset({str, int, bool, type(None)})
# Integers that orjson reads as doubles are among what has so many digits.
_LONG_NUMBER: Final = re.compile("[0-9]{19}")


class NotJsonError(ValueError):
    """The value has no JSON text; the message says what in it has none."""


def dumps(value: Any) -> str:
    """Compact JSON text of a value."""
    try:
        raw = orjson.dumps(value)
    except TypeError:
        return _dumps_anything(value)
    # orjson writes NaN and infinity as null.
    if b"null" in raw and _has_non_finite(value):
        raise NotJsonError("NaN and infinity are not JSON")
    text = raw.decode()
    return text if text.isascii() or not _NO_XML.search(text) else _dumps_anything(value, ensure_ascii=True)


def _dumps_anything(value: Any, *, ensure_ascii: bool = False) -> str:
    try:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=ensure_ascii, allow_nan=False)
        text.encode()
    except UnicodeEncodeError as error:
        raise NotJsonError("a text has a lone surrogate, which has no UTF-8") from error
    except RecursionError as error:
        raise NotJsonError("it is nested too deeply") from error
    except (ValueError, TypeError) as error:
        raise NotJsonError(str(error)) from error
    if not ensure_ascii and _NO_XML.search(text):
        return _dumps_anything(value, ensure_ascii=True)
    return text


def _has_non_finite(value: Any) -> bool:
    waiting = [[value]]
    while waiting:
        together = waiting.pop()
        if _PLAIN.issuperset(map(type, together)):
            continue  # most lists, at a fraction of the time
        for found in together:
            kind = type(found)
            if kind is float:
                if not math.isfinite(found):
                    return True
            elif kind is list:
                waiting.append(found)
            elif kind is dict:
                waiting.append(list(found.values()))
    return False


def loads(text: str) -> Any:
    """The value of JSON text."""
    if _LONG_NUMBER.search(text) is None:
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            pass  # the standard library takes more, and says what is wrong
    return json.loads(text)


def canonical_bytes(value: Any) -> bytes:
    """Bytes that are equal for equal values, for digests only."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def nesting(value: Any) -> int:
    """How many objects and arrays are in each other, the value itself included."""
    levels = 0
    level = [value] if isinstance(value, (dict, list)) else []
    while level:
        levels += 1
        inner = [inner for each in level for inner in (each.values() if isinstance(each, dict) else each)]
        level = [inner for inner in inner if isinstance(inner, (dict, list))]
    return levels
