"""Route templates of HTTP triggers, such as `indexes/{name}/entries` or `files/{*path}`.

A literal segment wins over a parameter and a parameter over a catch-all, segment by segment, as in ASP.NET routing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from local.process.errors import LocalRunError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from local.host.runtime import Function

_PARAMETER = re.compile(r"\{(?P<catch_all>\*{0,2})(?P<name>\w+)(?::(?P<constraint>\w+))?(?P<optional>\??)\}")
_INTEGER = r"\s*[+-]?[0-9]+\s*"
_CONSTRAINTS = {
    None: "[^/]+",
    "alpha": "[A-Za-z]+",
    "bool": "(?i:true|false)",
    "guid": "[0-9A-Fa-f-]{36}",
    "int": _INTEGER,
    "long": _INTEGER,
}
_BITS = {"int": 32, "long": 64}
# Sorts templates so that the more specific one is tried first.
_LITERAL, _TYPED, _ANY, _OPTIONAL, _REST = range(5)


@dataclass(frozen=True, slots=True)
class Route:
    """One HTTP function: its methods and its template, ready to match."""

    function: Function
    methods: frozenset[str]
    pattern: re.Pattern[str]
    specificity: tuple[int, ...]
    bits: Mapping[str, int]

    def values(self, path: str) -> dict[str, str] | None:
        """The values of its parameters in a path that it fits."""
        found = self.pattern.fullmatch(path)
        if found is None:
            return None
        values = {name: text for name, text in found.groupdict().items() if text is not None}
        limits = ((values[name], 1 << bits - 1) for name, bits in self.bits.items() if name in values)
        return values if all(-limit <= int(text) < limit for text, limit in limits) else None


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """A route that fits a request, with the values of its parameters."""

    route: Route
    values: dict[str, str]


class RouteTable:
    """All HTTP functions of the app."""

    def __init__(self, functions: Iterable[Function], prefix: str) -> None:
        self._routes = sorted((_route(function, prefix) for function in functions), key=_specificity)

    def match(self, method: str, path: str) -> RouteMatch | None:
        """The best route for the request that allows its method; `path` is decoded."""
        for route in self._routes:
            if route.methods and method not in route.methods:
                continue
            values = route.values(path)
            if values is not None:
                return RouteMatch(route, values)
        return None


def _specificity(route: Route) -> tuple[int, ...]:
    return route.specificity


def _route(function: Function, prefix: str) -> Route:
    template = str(function.trigger.get("route") or function.name).strip("/")
    segments = [segment for segment in f"{prefix}/{template}".split("/") if segment]
    compiled = [_segment(segment, function.name) for segment in segments]
    pattern = re.compile("".join(text for text, _ in compiled) + "/?", re.IGNORECASE | re.DOTALL)
    bits = {found["name"]: _BITS[found["constraint"]] for found in _typed(segments)}
    methods = frozenset(str(method).upper() for method in function.trigger.get("methods") or ())
    return Route(function, methods, pattern, tuple(rank for _, rank in compiled), bits)


def _typed(segments: list[str]) -> Iterator[re.Match[str]]:
    """The parameters whose numbers have a range."""
    found = (_PARAMETER.fullmatch(segment) for segment in segments)
    return (parameter for parameter in found if parameter and parameter["constraint"] in _BITS)


def _segment(segment: str, function_name: str) -> tuple[str, int]:
    """The regular expression of one segment, with its slash, and how specific it is."""
    parameter = _PARAMETER.fullmatch(segment)
    if parameter is None:
        return _literal(segment, function_name), _LITERAL
    name, constraint = parameter["name"], parameter["constraint"]
    if constraint not in _CONSTRAINTS:
        known = ", ".join(sorted(key for key in _CONSTRAINTS if key))
        raise LocalRunError(
            f"Function {function_name}: the local host does not know the route constraint {constraint!r}; "
            f"use one of {known}."
        )
    if parameter["catch_all"]:
        return f"(?:/(?P<{name}>.*))?", _REST
    text = f"/(?P<{name}>{_CONSTRAINTS[constraint]})"
    if parameter["optional"]:
        return f"(?:{text})?", _OPTIONAL
    return text, _ANY if constraint is None else _TYPED


def _literal(segment: str, function_name: str) -> str:
    if "{" in segment or "}" in segment:
        raise LocalRunError(
            f"Function {function_name}: the route segment {segment!r} mixes text and a parameter, "
            "which the local host cannot match; give the parameter a segment of its own."
        )
    return "/" + re.escape(segment)
