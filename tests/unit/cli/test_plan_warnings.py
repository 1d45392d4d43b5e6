"""`plan` says what an app warns of, where the caller may know it."""

from __future__ import annotations

import http.server
import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cli.main import main
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

REGIONS = "Cosmos DB takes writes in several regions (West Europe, East US)"


@contextmanager
def app_that_answers(details: tuple[int, dict[str, Any]]) -> Iterator[str]:
    """Its address; it has no indexes yet, and these details of its health."""
    answers = {"/api/indexes": (200, {"value": []}), "/api/health/details": details}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, content = answers[self.path]
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Without a line in the output of the test."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def plan(url: str) -> int:
    """The exit code."""
    return main(["plan", str(ROOT / "indexes.yaml"), "--url", url])


def test_plan_warns_of_several_write_regions(capsys: pytest.CaptureFixture[str]) -> None:
    """As readiness does."""
    with app_that_answers((200, {"status": "degraded", "limits": [REGIONS]})) as url:
        assert plan(url) == 0
    assert f"warning: {REGIONS}" in capsys.readouterr().err


def test_plan_goes_on_where_the_caller_may_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    """The plan is the same, without a warning."""
    with app_that_answers((403, {"code": "Forbidden"})) as url:
        assert plan(url) == 0
    assert "warning" not in capsys.readouterr().err
