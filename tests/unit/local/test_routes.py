"""Route templates that the local host cannot match are refused when the app is loaded."""

from __future__ import annotations

import pytest

from local.host.http.routes import RouteMatch, RouteTable
from local.host.runtime import Function
from local.process.errors import LocalRunError


def function(name: str, route: str) -> Function:
    """An HTTP function with this route."""
    return Function(name, name, {"type": "httpTrigger", "name": "req", "route": route}, [], None)


def matched(table: RouteTable, path: str) -> str:
    """The name of the function that a GET of `path` reaches."""
    match = table.match("GET", path)
    assert isinstance(match, RouteMatch)
    return match.route.function.name


def test_the_most_specific_route_wins_segment_by_segment() -> None:
    """Literal, then typed, then any, then the rest."""
    routes = ["{a}/{b}", "{a}/x", "y/{b}", "{a}/{b:int}", "{*rest}"]
    table = RouteTable([function(route, route) for route in routes], "api")
    found = {path: matched(table, f"/api/{path}") for path in ("y/x", "q/x", "q/7", "q/r", "q/r/s")}
    assert found == {"y/x": "y/{b}", "q/x": "{a}/x", "q/7": "{a}/{b:int}", "q/r": "{a}/{b}", "q/r/s": "{*rest}"}


def test_a_function_without_a_route_is_called_by_its_name() -> None:
    """As in Azure."""
    assert matched(RouteTable([function("hello", "")], "api"), "/api/hello") == "hello"


@pytest.mark.parametrize("route", ["x/{a:regex}", "x/v{number}"])
def test_a_template_beyond_the_local_host_is_refused(route: str) -> None:
    """The message names the function."""
    with pytest.raises(LocalRunError, match="Function f"):
        RouteTable([function("f", route)], "api")
