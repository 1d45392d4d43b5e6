"""A server that answers what a test tells it, and keeps what it was asked: for answers that a real app seldom gives."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, by its header names in lower case."""

    path: str
    headers: Mapping[str, str]


@dataclass(slots=True)
class ScriptedApp:
    """Gives its answers one after the other; the last one again and again."""

    url: str = ""
    answers: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    def answer(self, status: int, content: Any = None, **headers: str) -> None:
        """What comes next."""
        body = b"" if content is None else json.dumps(content).encode()
        self.answers.append((status, {name.replace("_", "-"): value for name, value in headers.items()}, body))


@contextlib.contextmanager
def scripted_app() -> Iterator[ScriptedApp]:
    """Such a server, for the length of the block."""
    app = ScriptedApp()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            app.asked.append(Asked(self.path, {name.lower(): value for name, value in self.headers.items()}))
            status, headers, body = app.answers.pop(0) if len(app.answers) > 1 else app.answers[0]
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing to the console."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    app.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield app
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
