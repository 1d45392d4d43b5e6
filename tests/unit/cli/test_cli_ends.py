"""How commands end when somebody or something ends them: Ctrl-C, a full disk, a reader that stops early."""

from __future__ import annotations

import contextlib
import http.server
import json
import signal
import socketserver
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cli.main import main
from tests.support import ROOT, ctrl_c_at_import

if TYPE_CHECKING:
    from collections.abc import Iterator

FULL = Path("/dev/full")
# What an app answers while it builds and verifies, whatever it is asked.
RUNNING: dict[str, Any] = {
    "id": "verification-1",
    "index": "by-town",
    "state": "running",
    "defined": {"state": "building"},
    "build": {"state": "running", "counts": {}, "notBefore": "2026-01-01T00:00:00Z"},
    "facts": 0,
    "ledgerRows": 0,
    "rows": 0,
    "examined": 0,
    "total": 0,
}


class _Busy(http.server.BaseHTTPRequestHandler):
    """Takes work and is never done with it; Ctrl-C comes while the caller waits for the second answer."""

    asked = 0
    caller: subprocess.Popen[str]

    def do_POST(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        cls = type(self)
        cls.asked += 1
        if cls.asked == 2:
            cls.caller.send_signal(signal.SIGINT)
        self._answer()

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.dumps(RUNNING).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@pytest.fixture(autouse=True)
def ctrl_c_is_heard() -> Iterator[None]:
    """Also when the tests run in the background, where shells let everything ignore it, children included."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def busy() -> Iterator[tuple[str, type[_Busy]]]:
    """The address of an app that is busy, and its handler."""
    handler = type("Handler", (_Busy,), {})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", handler
        server.shutdown()
        thread.join()


def interrupted(handler: type[_Busy], *arguments: str) -> tuple[int, str]:
    """The exit code and the messages of a command that gets Ctrl-C."""
    command = [sys.executable, "-m", "cli", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        handler.caller = process
        _, messages = process.communicate(timeout=60)
    return process.returncode, messages


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("build", 'the build of by-town goes on in the app: "index-tables build by-town --status" shows how far it is'),
        ("verify", 'the verification of by-town goes on in the app: "index-tables status" shows how far it is'),
        ("apply", "the build of by-town goes on in the app"),
    ],
)
def test_ctrl_c_leaves_the_work_to_the_app(busy: tuple[str, type[_Busy]], command: str, message: str) -> None:
    """Exit 130 with a sentence; only the waiting ends."""
    url, handler = busy
    code, messages = interrupted(handler, command, "by-town", "--url", url)
    assert code == 130
    assert f"index-tables: {message}" in messages
    assert "Traceback" not in messages


def test_ctrl_c_ends_a_load(busy: tuple[str, type[_Busy]], tmp_path: Path) -> None:
    """Writing the same facts again is safe, so the message says to do it."""
    url, handler = busy
    endpoints = {"http": url, "cosmos": {"endpoint": url, "key": "a2V5"}}
    (tmp_path / "endpoints.json").write_text(json.dumps(endpoints))
    (tmp_path / "facts.jsonl").write_text('{"id": "1"}')
    handler.asked = 1
    arguments = [str(tmp_path / "facts.jsonl"), "--source", "customers", "--data", str(tmp_path)]
    code, messages = interrupted(handler, "load", *arguments)
    assert code == 130
    assert messages.startswith("index-tables: not all facts were written: run the same command again\n")
    assert "Traceback" not in messages


def test_ctrl_c_ends_any_other_command(busy: tuple[str, type[_Busy]]) -> None:
    """In one line."""
    url, handler = busy
    handler.asked = 1
    ended = interrupted(handler, "query", "by-town", "town=x", "--url", url)
    assert ended == (130, "index-tables: interrupted\n")


@pytest.mark.parametrize("module", ["cli.main", "click", "cli.commands.advise"])
def test_ctrl_c_ends_a_command_that_is_still_loading(module: str) -> None:
    """In one line, too."""
    ended = ctrl_c_at_import(module, "cli", "tail", "--source", "orders", "--data", "none")
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "index-tables: interrupted\n")


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a disk that is always full")
def test_a_full_disk_is_told() -> None:
    """Exit 1 with the system's reason, once, and not again when Python ends."""
    with FULL.open("w") as full:
        command = [sys.executable, "-m", "cli", "validate", "--schema"]
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    message = "index-tables: the output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, message)


@pytest.mark.parametrize("unknown_keys", [1, 2000])
def test_a_reader_that_stops_early_does_not_hide_a_problem(tmp_path: Path, unknown_keys: int) -> None:
    """Whether all of the output is still buffered or most of it is not."""
    file = tmp_path / "broken.yaml"
    file.write_text("version: 1\nsources: {}\nindexes: {}\n" + "".join(f"k{n}: 1\n" for n in range(unknown_keys)))
    command = [sys.executable, "-m", "cli", "validate", str(file)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        messages = process.stderr.read()
    assert (process.returncode, messages.count("\n")) == (1, 1), messages


@pytest.mark.parametrize(
    "arguments",
    [
        ["query", "by-town", "town=\udcff"],
        ["build", "by-\udcff"],
        ["dead-letters", "show", "\udcff"],
        ["dead-letters", "list", "--source", "\udcff"],
    ],
)
def test_an_argument_that_is_not_utf8_is_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Python hands such bytes on as lone surrogates."""
    assert main([*arguments, "--url", "http://127.0.0.1:1"]) == 2
    assert "is not UTF-8 text" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["tail", "by-town", "--every", "nan"],
        ["tail", "by-town", "--every", "inf"],
        ["status", "--watch", "--every", "nan"],
        ["status", "--watch", "--every", "0"],
        ["status", "--max-lag", "nan"],
        ["status", "--max-lag", "soon"],
        ["rebalance", "by-town", "--wait", "nan"],
    ],
)
def test_what_is_no_time_is_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """NaN is neither above nor below any bound."""
    assert main(arguments) == 2
    assert "is not a number of seconds" in capsys.readouterr().err


class _NoHttp(socketserver.StreamRequestHandler):
    """Says something, whatever it is asked."""

    def handle(self) -> None:
        self.rfile.readline()
        self.wfile.write(b"220 mail.example ready\r\n")


def test_a_server_that_speaks_no_http_is_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1, in one line."""
    with socketserver.TCPServer(("127.0.0.1", 0), _NoHttp) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        assert main(["status", "--url", f"http://127.0.0.1:{server.server_address[1]}"]) == 1
        thread.join()
    message = capsys.readouterr().err
    assert "does not answer" in message
    assert message.count("\n") == 1
