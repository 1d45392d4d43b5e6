"""HTTP requests as Azure's host hands them to a function, byte for byte where clients differ."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.functions.apps import RunningApp, serving, write_app

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FUNCTIONS = """
def described(req):
    return func.HttpResponse(json.dumps({
        "function": req.route_params.get("which"), "method": req.method, "url": req.url, "params": dict(req.params),
        "route": dict(req.route_params), "headers": dict(req.headers), "body": req.get_body().decode("latin-1")}),
        mimetype="application/json")

@app.route(route="echo/{*rest}")
def echo(req: func.HttpRequest) -> func.HttpResponse:
    return described(req)

@app.route(route="value/{value}")
def value(req: func.HttpRequest) -> func.HttpResponse:
    return described(req)

@app.route(route="int/{value:int}")
def integer(req: func.HttpRequest) -> func.HttpResponse:
    return described(req)

@app.route(route="both/here", methods=["GET"])
def literal(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("literal")

@app.route(route="both/{value}", methods=["POST"])
def other(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse("other")

@app.route(route="text")
def text(req: func.HttpRequest) -> str:
    return "gr\\u00fc\\u00df dich"

@app.route(route="cookies")
def cookies(req: func.HttpRequest) -> func.HttpResponse:
    answer = func.HttpResponse("ok")
    answer.headers.add("Set-Cookie", "a=1; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=60")
    answer.headers.add("Set-Cookie", "b=2; Domain=example.com; Expires=Wed, 18 Nov 2026 12:00:00 GMT")
    return answer
"""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """One app for all tests of this file; none of them changes it."""
    with serving(write_app(tmp_path_factory.mktemp("http") / "app", FUNCTIONS)) as running:
        yield running


def exchanged(app: RunningApp, request: str) -> tuple[int, list[str], bytes]:
    """The answer to these bytes: status, header lines, body. `HOST` stands for the server's address."""
    address = urlsplit(app.url)
    octets = request.replace("\n", "\r\n").replace("HOST", address.netloc).encode("latin-1")
    with socket.create_connection((address.hostname, address.port or 80), timeout=10) as connection:
        connection.sendall(octets)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    return int(lines[0].split()[1]), lines[1:], body


def got(app: RunningApp, target: str, *headers: str, method: str = "GET") -> Any:
    """What the function saw of a request for exactly this target."""
    lines = "".join(f"{header}\n" for header in headers)
    status, _, body = exchanged(app, f"{method} {target} HTTP/1.1\nHost: HOST\nConnection: close\n{lines}\n")
    return json.loads(body) if status == 200 else status


def test_repeated_headers_are_joined_with_commas(app: RunningApp) -> None:
    """In their order, under one name in lower case."""
    headers = got(app, "/api/echo/x", "X-Test: one", "x-test: two", "X-TEST: three, four")["headers"]
    assert headers["x-test"] == "one,two,three, four"


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("/a%20b", "/a%20b"),
        ("/%41%7e", "/A~"),
        ("/a%2Fb%2fc", "/a%2Fb%2fc"),
        ("/%C3%A9", "/%C3%A9"),
        ("/%c3%a9", "/%C3%A9"),
        ("/%e9", "/%e9"),
        ("/a+b;c=d@e:f", "/a+b;c=d@e:f"),
        ("/%22%3C%3E", "/%22%3C%3E"),
        ("/100%25", "/100%25"),
    ],
)
def test_the_url_has_its_path_escaped(app: RunningApp, sent: str, shown: str) -> None:
    """Decoded once and escaped again, as ASP.NET writes it; the query stays as it was sent."""
    seen = got(app, f"/api/echo{sent}?q=%41%e9+b&E=")
    assert seen["url"] == f"{app.url}/api/echo{shown}?q=%41%e9+b&E="


@pytest.mark.parametrize(
    ("sent", "value"),
    [
        ("a%20b", "a b"),
        ("a%2Fb", "a%2Fb"),
        ("a%2fb", "a%2fb"),
        ("%C3%A9", "é"),
        ("%e9", "%e9"),
        ("a%e9%C3%A9", "a%e9é"),
        ("a+b", "a+b"),
        ("100%25", "100%"),
    ],
)
def test_a_route_value_is_decoded_except_for_slashes_and_what_is_no_utf_8(
    app: RunningApp, sent: str, value: str
) -> None:
    """`%2F` stays, so that it never becomes a separator; `%e9` stays, because it is no character."""
    assert got(app, f"/api/value/{sent}")["route"] == {"value": value}


@pytest.mark.parametrize(
    ("query", "params"),
    [
        ("A=1&a=2", {"A": "1,2"}),
        ("a=1&A=&a=3", {"a": "1,3"}),
        ("a=%e9&b=%C3%A9+x", {"a": "%e9", "b": "é x"}),
        ("a&b=&c=1", {"c": "1"}),
        ("a=b=c", {"a": "b=c"}),
        ("a=1&&b=2", {"a": "1", "b": "2"}),
    ],
)
def test_parameters_whose_names_differ_in_case_are_one(app: RunningApp, query: str, params: dict[str, str]) -> None:
    """Under the first spelling; empty values are dropped, the others joined with commas."""
    assert got(app, f"/api/echo/x?{query}")["params"] == params


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("/api/echo/a/../b", "/api/echo/b"),
        ("/api/echo/./a", "/api/echo/a"),
        ("/api/nowhere/../echo/a", "/api/echo/a"),
        ("/api/nowhere/%2e%2E/echo/a", "/api/echo/a"),
        ("/../../api/echo/a", "/api/echo/a"),
        ("/api/echo/a/..", "/api/echo/"),
    ],
)
def test_dots_in_a_path_are_resolved_before_routing(app: RunningApp, path: str, url: str) -> None:
    """A path cannot climb above the root."""
    assert got(app, path)["url"] == app.url + url


@pytest.mark.parametrize(
    ("value", "is_taken"),
    [
        ("7", True),
        ("-7", True),
        ("+7", True),
        ("%207%20", True),
        ("2147483647", True),
        ("2147483648", False),
        ("-2147483648", True),
        ("-2147483649", False),
        ("1.0", False),
        ("0x1", False),
        ("%D9%A3", False),
        ("", False),
    ],
)
def test_an_int_in_a_route_is_one_of_32_bits(app: RunningApp, value: str, is_taken: bool) -> None:
    """With a sign and spaces if need be, as ASP.NET parses it; digits of other scripts are none."""
    seen = got(app, f"/api/int/{value}")
    assert (seen != 404) == is_taken


def test_any_method_reaches_a_route_that_allows_it(app: RunningApp) -> None:
    """A route without methods takes all of them, and a less specific route is tried when the better one refuses."""
    for method in ("PROPFIND", "HEAD", "OPTIONS", "TRACE"):
        status, _, body = exchanged(app, f"{method} /api/echo/x HTTP/1.1\nHost: HOST\nConnection: close\n\n")
        assert status == 200
        assert method == "HEAD" or json.loads(body)["method"] == method
    for method, expected in (("GET", b"literal"), ("POST", b"other")):
        request = f"{method} /api/both/here HTTP/1.1\nHost: HOST\nConnection: close\nContent-Length: 0\n\n"
        assert exchanged(app, request)[2] == expected


@pytest.mark.parametrize("method", ["DELETE", "HEAD", "OPTIONS"])
def test_a_wrong_method_is_not_found(app: RunningApp, method: str) -> None:
    """Azure's host knows no 405."""
    status, lines, _ = exchanged(app, f"{method} /api/both/here HTTP/1.1\nHost: HOST\nConnection: close\n\n")
    assert status == 404
    assert not [line for line in lines if line.lower().startswith("allow:")]


def test_a_body_sent_in_chunks_is_refused(app: RunningApp) -> None:
    """Azure's host hands over an empty body: better a clear answer here than that surprise."""
    head = "POST /api/echo/x HTTP/1.1\nHost: HOST\nConnection: close\nTransfer-Encoding: chunked\n\n"
    status, _, body = exchanged(app, head + "5\nhello\n0\n\n")
    assert status == 411
    assert b"Content-Length" in body


def test_a_body_with_a_length_arrives(app: RunningApp) -> None:
    """The other way to send one."""
    request = "POST /api/echo/x HTTP/1.1\nHost: HOST\nConnection: close\nContent-Length: 5\n\nhello"
    assert json.loads(exchanged(app, request)[2])["body"] == "hello"


def test_a_function_may_answer_with_text(app: RunningApp) -> None:
    """200 with the text in UTF-8."""
    status, lines, body = exchanged(app, "GET /api/text HTTP/1.1\nHost: HOST\nConnection: close\n\n")
    assert (status, body.decode()) == (200, "grüß dich")
    assert "content-type: text/plain; charset=utf-8" in [line.lower() for line in lines]


def test_a_function_may_set_cookies(app: RunningApp) -> None:
    """Each with the attributes that it was given."""
    status, lines, _ = exchanged(app, "GET /api/cookies HTTP/1.1\nHost: HOST\nConnection: close\n\n")
    cookies = sorted(line.partition(": ")[2] for line in lines if line.lower().startswith("set-cookie"))
    parts = [sorted(part.strip().lower() for part in cookie.split(";")) for cookie in cookies]
    assert status == 200
    assert parts == [
        sorted(["a=1", "path=/", "httponly", "secure", "samesite=lax", "max-age=60"]),
        sorted(["b=2", "domain=example.com", "expires=wed, 18 nov 2026 12:00:00 gmt"]),
    ]


def test_a_page_of_another_site_can_do_nothing_without_keys(app: RunningApp) -> None:
    """A browser sends the page's origin, and with a rebound name a foreign host: both are refused."""
    for header, status in (
        ("Host: HOST\nOrigin: https://evil.example", 403),
        ("Host: HOST\nOrigin: null", 403),
        ("Host: HOST\nOrigin: http://localhost:3000", 403),
        ("Host: evil.example", 403),
        ("Host: 127.0.0.1.evil.example", 403),
        ("Host: [", 403),
        ("Host: HOST\nOrigin: http://HOST", 200),
        ("Host: HOST", 200),
        ("Host: localhost:1234", 200),
        ("Host: [::1]:1234", 200),
    ):
        request = f"POST /api/echo/purge HTTP/1.1\n{header}\nConnection: close\nContent-Length: 0\n\n"
        assert exchanged(app, request)[0] == status, header


def test_local_cors_lets_the_pages_in_that_it_names(tmp_path: Path) -> None:
    """For a front end under development; a preflight is answered by the host."""
    folder = write_app(tmp_path / "app", FUNCTIONS)
    allowed = "http://localhost:3000"
    with serving(folder, {"LOCAL_CORS": f"{allowed}, http://localhost:4000"}) as running:
        for origin, status in ((allowed, 200), ("http://localhost:4000", 200), ("http://localhost:5000", 403)):
            request = f"GET /api/text HTTP/1.1\nHost: HOST\nOrigin: {origin}\nConnection: close\n\n"
            found, lines, _ = exchanged(running, request)
            assert found == status
            assert (f"Access-Control-Allow-Origin: {origin}" in lines) == (status == 200)
        preflight = f"Origin: {allowed}\nAccess-Control-Request-Method: DELETE\nAccess-Control-Request-Headers: x-a"
        request = f"OPTIONS /api/both/here HTTP/1.1\nHost: HOST\n{preflight}\nConnection: close\n\n"
        status, lines, _ = exchanged(running, request)
        assert status == 204
        assert {"Access-Control-Allow-Methods: DELETE", "Access-Control-Allow-Headers: x-a"} <= set(lines)
