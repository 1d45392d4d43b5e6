"""The key goes to the host that was named, and to no other."""

from __future__ import annotations

import http.server
import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Server(http.server.BaseHTTPRequestHandler):
    """Answers with a page that names the next, or redirects; remembers the keys that it was sent."""

    keys: list[str | None]
    answers: dict[str, tuple[int, str]]

    def do_GET(self) -> None:
        self.keys.append(self.headers.get("x-functions-key") or self.headers.get("Authorization"))
        status, target = self.answers.get(self.path.partition("?")[0], (200, ""))
        page: dict[str, Any] = {"value": [{"id": str(len(self.keys)), "key": {}, "data": {}}]}
        body = json.dumps(page if status != 200 or not target else {**page, "nextLink": target}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if status != 200:
            self.send_header("Location", target)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@contextmanager
def server() -> Iterator[tuple[str, type[_Server]]]:
    """Its address and its handler."""
    handler = type("Handler", (_Server,), {"keys": [], "answers": {}})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}", handler
        running.shutdown()
        thread.join()


PATH = "/api/indexes/by-town/entries"


@pytest.mark.parametrize("secret", [("--key", "secret"), ("--token", "secret")])
@pytest.mark.parametrize("status", [200, 302, 307])
def test_another_host_never_gets_the_key(
    status: int, secret: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether a page names it as the next or a redirect does; exit 1 with its address."""
    with server() as (url, named), server() as (foreign_url, foreign):
        named.answers[PATH] = (status, f"{foreign_url}/api/other")
        assert main(["query", "by-town", "town=x", "--all", "--url", url, *secret]) == 1
        assert (foreign.keys, len(named.keys)) == ([], 1)
        assert foreign_url in capsys.readouterr().err


@pytest.mark.parametrize("status", [200, 302])
def test_the_named_host_may_go_on_elsewhere_on_itself(status: int, capsys: pytest.CaptureFixture[str]) -> None:
    """With the key."""
    with server() as (url, named):
        named.answers[PATH] = (status, f"{url}/api/next")
        assert main(["query", "by-town", "town=x", "--all", "--url", f"{url}/api/", "--key", "secret"]) == 0
        assert named.keys == ["secret", "secret"]
    assert capsys.readouterr().err.startswith("2 entries" if status == 200 else "1 entry")
