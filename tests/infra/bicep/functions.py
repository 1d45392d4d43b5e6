"""The functions of Bicep that the templates use, as Python. What only Azure knows stays `Unknown`."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Unknown(str):
    """A text that only Azure knows, such as the client id of an identity; it reads as where it comes from."""

    __slots__ = ()


def _any(value: Any) -> Any:
    return value


def _concat(*lists: Sequence[Any]) -> list[Any]:
    return [item for items in lists for item in items]


def _items(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value[key]} for key in sorted(value)]


def _union(*values: Any) -> Any:
    if isinstance(values[0], dict):
        return {key: item for value in values for key, item in value.items()}
    distinct: list[Any] = []
    for item in _concat(*values):
        if item not in distinct:
            distinct.append(item)
    return distinct


def _contains(container: Any, item: Any) -> bool:
    return item in container


def _first(values: Sequence[Any]) -> Any:
    return values[0]


def _string(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _reduce(values: Sequence[Any], start: Any, step: Callable[[Any, Any], Any]) -> Any:
    for value in values:
        start = step(start, value)
    return start


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _guid(*parts: str) -> str:
    digest = _digest(*parts)
    return "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32]))


def _unique_string(*parts: str) -> str:
    return _digest(*parts)[:13]


def _subscription_resource_id(kind: str, name: str) -> str:
    return f"/subscriptions/00000000/providers/{kind}/{name}"


def _environment() -> dict[str, Any]:
    return {
        "authentication": {"loginEndpoint": "https://login.microsoftonline.com/"},
        "portal": "https://portal.azure.com",
        "suffixes": {"storage": "core.windows.net"},
    }


PURE: Final[dict[str, Callable[..., Any]]] = {
    "any": _any,
    "concat": _concat,
    "contains": _contains,
    "empty": lambda value: not value,
    "endsWith": str.endswith,
    "environment": _environment,
    "filter": lambda values, keep: [value for value in values if keep(value)],
    "first": _first,
    "format": lambda text, *values: text.format(*values),
    "flatten": lambda values: _concat(*values),
    "guid": _guid,
    "indexOf": lambda values, item: values.index(item),
    "items": _items,
    "join": lambda values, between: between.join(values),
    "length": len,
    "newGuid": lambda: _guid("new"),
    "map": lambda values, change: [change(value) for value in values],
    "reduce": _reduce,
    "replace": str.replace,
    "split": str.split,
    "startsWith": str.startswith,
    "string": _string,
    "subscriptionResourceId": _subscription_resource_id,
    "take": lambda value, count: value[:count],
    "toLower": str.lower,
    "trim": str.strip,
    "union": _union,
    "uniqueString": _unique_string,
    "utcNow": lambda _: "2026-11-18T12:00:00Z",
}

# Answered by the evaluator, which knows the files and the scope.
CONTEXTUAL: Final = frozenset(
    {"loadJsonContent", "loadTextContent", "loadYamlContent", "resourceGroup", "subscription"}
)
DECORATORS: Final = frozenset(
    {"allowed", "batchSize", "description", "maxLength", "maxValue", "metadata", "minLength", "minValue", "secure"}
)
KNOWN_FUNCTIONS: Final = frozenset(PURE) | CONTEXTUAL | DECORATORS
