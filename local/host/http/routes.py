"""Route templates of HTTP triggers, such as `indexes/{name}/entries` or `files/{*path}`.

A literal segment wins over a parameter and a parameter over a catch-all, segment by segment, as in ASP.NET routing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from local.process.errors import LocalRunError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from local.host.runtime import Function

_PARAMETER = re.compile(r"\{(?P<catch_all>\*{0,2})(?P<name>\w+)(?::(?P<constraint>\w+))?(?P<optional>\??)\}")
_CONSTRAINTS = {
    None: "[^/]+",
    "alpha": "[A-Za-z]+",
    "bool": "(?i:true|false)",
    "guid": "[0-9A-Fa-f-]{36}",
    "int": r"-?\d+",
    "long": r"-?\d+",
}
# Sorts templates so that the more specific one is tried first.
_LITERAL, _TYPED, _ANY, _OPTIONAL, _REST = range(5)


@dataclass(frozen=True, slots=True)
class Route:
    """One HTTP function: its methods and its template, ready to match."""

    function: Function
    methods: frozenset[str]
    pattern: re.Pattern[str]
    specificity: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """A route that fits a request, with the values of its parameters."""

    route: Route
    values: dict[str, str]


class RouteTable:
    """All HTTP functions of the app."""

    def __init__(self, functions: Iterable[Function], prefix: str) -> None:
        self._routes = sorted((_route(function, prefix) for function in functions), key=_specificity)

    def match(self, method: str, raw_path: str) -> RouteMatch | frozenset[str]:
        """The best route for the request, or the methods that this path would allow (none: not found)."""
        allowed: set[str] = set()
        for route in self._routes:
            found = route.pattern.fullmatch(raw_path)
            if found is None:
                continue
            if not route.methods or method in route.methods:
                values = {name: unquote(text) for name, text in found.groupdict().items() if text is not None}
                return RouteMatch(route, values)
            allowed |= route.methods
        return frozenset(allowed)


def _specificity(route: Route) -> tuple[int, ...]:
    return route.specificity


def _route(function: Function, prefix: str) -> Route:
    template = str(function.trigger.get("route") or function.name).strip("/")
    segments = [segment for segment in f"{prefix}/{template}".split("/") if segment]
    compiled = [_segment(segment, function.name) for segment in segments]
    pattern = re.compile("".join(text for text, _ in compiled) + "/?", re.IGNORECASE)
    methods = frozenset(str(method).upper() for method in function.trigger.get("methods") or ())
    return Route(function, methods, pattern, tuple(rank for _, rank in compiled))


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
