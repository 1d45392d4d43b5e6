"""HTTP functions behave in the local host as they do in Azure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import requests

from tests.functions.apps import RunningApp, serving, write_app

if TYPE_CHECKING:
    from collections.abc import Iterator

FUNCTIONS = """
def described(req):
    return func.HttpResponse(json.dumps({
        "method": req.method, "url": req.url, "params": dict(req.params), "route": dict(req.route_params),
        "body": req.get_body().decode(), "header": req.headers.get("X-Test")}), mimetype="application/json")

@app.route(route="things/{name}/{number:int?}")
def typed(req: func.HttpRequest) -> func.HttpResponse:
    return described(req)

@app.route(route="things/special")
def literal(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("special")

@app.route(route="files/{*path}", methods=["GET", "POST"])
async def files(req: func.HttpRequest) -> func.HttpResponse:
    return described(req)

@app.route(route="teapot")
def teapot(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(b"\\x00\\xff", status_code=418, headers={"X-Answer": "42"}, mimetype="application/x-tea")

@app.route(route="nothing")
def nothing(req: func.HttpRequest) -> func.HttpResponse:
    return None

@app.route(route="boom")
def boom(req: func.HttpRequest) -> func.HttpResponse:
    raise RuntimeError("planted")
"""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """One app for all tests of this file; none of them changes it."""
    with serving(write_app(tmp_path_factory.mktemp("http") / "app", FUNCTIONS)) as running:
        yield running


def get(app: RunningApp, target: str, **options: Any) -> requests.Response:
    """A GET whose path and query reach the host exactly as written."""
    request = requests.Request("GET", app.url, **options).prepare()
    request.url = app.url + target
    with requests.Session() as session:
        return session.send(request, timeout=10)


def test_route_values_reach_the_function(app: RunningApp) -> None:
    """Each parameter of the template is in `route_params`, percent-decoded."""
    assert get(app, "/api/things/a%20b/7").json()["route"] == {"name": "a b", "number": "7"}


def test_an_optional_parameter_may_be_left_out(app: RunningApp) -> None:
    """`{number?}` matches a path without it."""
    assert get(app, "/api/things/x").json()["route"] == {"name": "x"}


def test_a_value_of_the_wrong_type_does_not_match(app: RunningApp) -> None:
    """`{number:int}` leaves text to other routes, of which there are none."""
    assert get(app, "/api/things/x/seven").status_code == 404


def test_a_literal_segment_wins_over_a_parameter(app: RunningApp) -> None:
    """The more specific template is chosen, in whatever order they were declared."""
    assert get(app, "/api/things/special").text == "special"


def test_a_catch_all_takes_the_rest_of_the_path(app: RunningApp) -> None:
    """`{*path}` spans slashes."""
    assert get(app, "/api/files/a/b/c").json()["route"] == {"path": "a/b/c"}


def test_paths_match_without_regard_to_case(app: RunningApp) -> None:
    """Routing in Azure ignores the case of literal segments."""
    assert get(app, "/API/Things/Special").text == "special"


def test_empty_query_values_are_dropped_and_repeated_ones_joined(app: RunningApp) -> None:
    """`req.params` has the host's form; that is why lookups parse `req.url` instead."""
    assert get(app, "/api/files/x?town=&a=1&a=2&b=3").json()["params"] == {"a": "1,2", "b": "3"}


def test_the_url_keeps_the_query_as_it_was_sent(app: RunningApp) -> None:
    """The path is escaped, the query string is not touched."""
    assert get(app, "/api/files/a%20b?town=&x=%41%20+").json()["url"] == f"{app.url}/api/files/a%20b?town=&x=%41%20+"


def test_method_body_and_headers_reach_the_function(app: RunningApp) -> None:
    """A POST arrives whole."""
    answer = requests.post(f"{app.url}/api/files/x", data="hello", headers={"X-Test": "yes"}, timeout=10).json()
    assert (answer["method"], answer["body"], answer["header"]) == ("POST", "hello", "yes")


def test_status_headers_and_binary_body_come_back(app: RunningApp) -> None:
    """What the function answers is what the caller gets."""
    answer = get(app, "/api/teapot")
    assert (answer.status_code, answer.headers["X-Answer"], answer.headers["Content-Type"], answer.content) == (
        418,
        "42",
        "application/x-tea",
        b"\x00\xff",
    )


def test_a_function_that_returns_nothing_answers_500(app: RunningApp) -> None:
    """The production runtime cannot encode it, and so it fails here too."""
    assert get(app, "/api/nothing").status_code == 500


def test_a_function_that_raises_answers_500_and_is_logged(app: RunningApp) -> None:
    """The caller learns nothing of the inside; the log has the stack trace."""
    answer = get(app, "/api/boom")
    assert (answer.status_code, answer.content) == (500, b"")
    assert "RuntimeError: planted" in app.program.output


def test_an_unknown_path_answers_404(app: RunningApp) -> None:
    """Nothing is served beside the functions."""
    assert get(app, "/api/unknown").status_code == 404


def test_a_known_path_with_another_method_answers_404(app: RunningApp) -> None:
    """Azure's host knows no 405."""
    assert requests.delete(f"{app.url}/api/files/x", timeout=10).status_code == 404


def test_the_route_prefix_comes_from_host_json(tmp_path_factory: pytest.TempPathFactory) -> None:
    """An empty prefix serves functions at the root."""
    folder = tmp_path_factory.mktemp("prefix") / "app"
    app = write_app(folder, FUNCTIONS, {"version": "2.0", "extensions": {"http": {"routePrefix": ""}}})
    with serving(app) as running:
        assert get(running, "/things/special").text == "special"


KEYED = """
@app.route(route="open", auth_level=func.AuthLevel.ANONYMOUS)
def open_to_all(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("open")

@app.route(route="lookup")
def lookup(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("lookup")

@app.route(route="operate", auth_level=func.AuthLevel.ADMIN)
def operate(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("operate")
"""


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningApp, dict[str, str]]]:
    """An app whose keys are checked, and the keys."""
    folder = tmp_path_factory.mktemp("keys")
    keys_file = folder / "keys.json"
    with serving(write_app(folder / "app", KEYED), None, "--keys", str(keys_file)) as running:
        yield running, json.loads(keys_file.read_text())


@pytest.mark.parametrize(
    ("path", "key", "status"),
    [
        ("open", None, 200),
        ("lookup", None, 401),
        ("lookup", "wrong", 401),
        ("lookup", "function", 200),
        ("lookup", "admin", 200),
        ("operate", None, 401),
        ("operate", "function", 401),
        ("operate", "admin", 200),
    ],
)
def test_a_key_opens_its_level_and_those_below(
    keyed: tuple[RunningApp, dict[str, str]], path: str, key: str | None, status: int
) -> None:
    """A function key opens functions, the admin key opens everything, in the header and as `code`."""
    app, keys = keyed
    value = keys.get(key, key) if key else None
    by_header = get(app, f"/api/{path}", headers={"x-functions-key": value} if value else {})
    by_parameter = get(app, f"/api/{path}" + (f"?code={value}" if value else ""))
    assert (by_header.status_code, by_parameter.status_code) == (status, status)


def test_a_path_with_a_line_feed_reaches_its_function(app: RunningApp) -> None:
    """Encoded, it is a character like any other."""
    assert get(app, "/api/things/a%0Ab").json()["route"] == {"name": "a\nb"}
