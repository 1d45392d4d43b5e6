"""The built-in functions that queries may call. An argument of a wrong type makes the result undefined."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local.emulators.cosmos.sql.values import UNDEFINED, as_number, is_number, same

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class BuiltInFunction:
    """A function and how many arguments it takes."""

    least: int
    most: int
    call: Callable[..., Any]


def _text_test(test: Callable[[str, str], bool]) -> BuiltInFunction:
    """A test of two strings, with an optional third argument that ignores case."""

    def call(text: Any, part: Any, ignores_case: Any = False) -> Any:
        if not isinstance(text, str) or not isinstance(part, str) or not isinstance(ignores_case, bool):
            return UNDEFINED
        return test(text.lower(), part.lower()) if ignores_case else test(text, part)

    return BuiltInFunction(2, 3, call)


def _on_text(function: Callable[[str], Any]) -> BuiltInFunction:
    return BuiltInFunction(1, 1, lambda text: function(text) if isinstance(text, str) else UNDEFINED)


def _on_number(function: Callable[[Any], Any]) -> BuiltInFunction:
    return BuiltInFunction(1, 1, lambda value: as_number(function(value)) if is_number(value) else UNDEFINED)


def _type_test(test: Callable[[Any], bool]) -> BuiltInFunction:
    return BuiltInFunction(1, 1, test)


def _array_contains(array: Any, wanted: Any, is_partial: Any = False) -> Any:
    if not isinstance(array, list) or wanted is UNDEFINED or not isinstance(is_partial, bool):
        return UNDEFINED
    if is_partial and isinstance(wanted, dict):
        return any(isinstance(element, dict) and _has(element, wanted) for element in array)
    return any(same(element, wanted) for element in array)


def _has(element: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return all(name in element and same(element[name], value) for name, value in wanted.items())


def _array_length(array: Any) -> Any:
    return len(array) if isinstance(array, list) else UNDEFINED


def _concat(*texts: Any) -> Any:
    return "".join(texts) if all(isinstance(text, str) for text in texts) else UNDEFINED


def _substring(text: Any, start: Any, length: Any) -> Any:
    if not isinstance(text, str) or not is_number(start) or not is_number(length):
        return UNDEFINED
    first, count = max(int(start), 0), int(length)
    return text[first : first + count] if count > 0 else ""


def _index_of(text: Any, part: Any) -> Any:
    return text.find(part) if isinstance(text, str) and isinstance(part, str) else UNDEFINED


FUNCTIONS: dict[str, BuiltInFunction] = {
    "STARTSWITH": _text_test(str.startswith),
    "ENDSWITH": _text_test(str.endswith),
    "CONTAINS": _text_test(lambda text, part: part in text),
    "STRINGEQUALS": _text_test(lambda text, part: text == part),
    "LOWER": _on_text(str.lower),
    "UPPER": _on_text(str.upper),
    "LENGTH": _on_text(len),
    "TRIM": _on_text(str.strip),
    "LTRIM": _on_text(str.lstrip),
    "RTRIM": _on_text(str.rstrip),
    "CONCAT": BuiltInFunction(2, 200, _concat),
    "SUBSTRING": BuiltInFunction(3, 3, _substring),
    "INDEX_OF": BuiltInFunction(2, 2, _index_of),
    "ABS": _on_number(abs),
    "FLOOR": _on_number(math.floor),
    "CEILING": _on_number(math.ceil),
    "ARRAY_CONTAINS": BuiltInFunction(2, 3, _array_contains),
    "ARRAY_LENGTH": BuiltInFunction(1, 1, _array_length),
    "IS_DEFINED": _type_test(lambda value: value is not UNDEFINED),
    "IS_NULL": _type_test(lambda value: value is None),
    "IS_BOOL": _type_test(lambda value: isinstance(value, bool)),
    "IS_NUMBER": _type_test(is_number),
    "IS_STRING": _type_test(lambda value: isinstance(value, str)),
    "IS_ARRAY": _type_test(lambda value: isinstance(value, list)),
    "IS_OBJECT": _type_test(lambda value: isinstance(value, dict)),
    "IS_PRIMITIVE": _type_test(lambda value: value is not UNDEFINED and not isinstance(value, (list, dict))),
}
