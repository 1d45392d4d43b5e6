"""MongoDB's extended JSON as plain JSON: `{"$oid": "..."}` is a text, `{"$numberLong": "1"}` a number, and so on.

Types that JSON has no word for and that no key can have, such as binary data, stay as they are.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def plain_json(value: Any) -> Any:
    """The value with every type of MongoDB in it written plainly."""
    if isinstance(value, list):
        return [plain_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((name, inner),) = value.items()
        if name in _TYPES:
            return _typed(name, inner, value)
    return {name: plain_json(inner) for name, inner in value.items()}


def _typed(name: str, inner: Any, whole: Any) -> Any:
    try:
        return _TYPES[name](inner)
    except (TypeError, ValueError, OverflowError, KeyError):
        return whole


def _double(inner: Any) -> float | str:
    """JSON has no infinity: as a text it is at least seen."""
    number = float(inner)
    return number if math.isfinite(number) else str(inner)


def _date(inner: Any) -> str:
    """An ISO 8601 time, from milliseconds since 1970 or from a time."""
    if isinstance(inner, str):
        return inner
    milliseconds = int(inner["$numberLong"] if isinstance(inner, dict) else inner)
    return (_EPOCH + timedelta(milliseconds=milliseconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_TYPES: Final[dict[str, Callable[[Any], Any]]] = {
    "$oid": str,
    "$numberInt": int,
    "$numberLong": int,
    "$numberDouble": _double,
    # Exact only as a text; a key part of type number takes it.
    "$numberDecimal": str,
    "$date": _date,
    "$uuid": str,
    "$symbol": str,
}
