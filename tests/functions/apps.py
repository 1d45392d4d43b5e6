"""Small function apps on disk, run by the local host in a process of its own."""

from __future__ import annotations

import contextlib
import json
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local.process import ports
from tests import support

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

HOST_JSON = {"version": "2.0"}
PREAMBLE = """
import json, logging, os, pathlib, time
import azure.functions as func

app = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)
"""
# In an async function that writes to the file SEEN: the first call stops the host before it goes on.
STOP_THE_FIRST_TIME = """
    import asyncio, signal
    if not os.path.exists(os.environ["SEEN"]):
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0.2)
"""


def write_app(folder: Path, functions: str, host_json: Mapping[str, Any] = HOST_JSON) -> Path:
    """An app whose `function_app.py` is the usual beginning and then `functions`."""
    folder.mkdir(exist_ok=True)
    (folder / "function_app.py").write_text(PREAMBLE + textwrap.dedent(functions))
    (folder / "host.json").write_text(json.dumps(host_json))
    return folder


@dataclass(frozen=True, slots=True)
class RunningApp:
    """An app that the host serves."""

    url: str
    program: support.Program


@contextlib.contextmanager
def started(
    app: Path, output_file: Path, settings: Mapping[str, str] | None = None, *arguments: str
) -> Iterator[support.Program]:
    """The host on `app`, ready or not."""
    command = support.local_command("host", "--app", str(app), "--watch-stdin", *arguments)
    with support.running(command, output_file, settings) as program:
        yield program


@contextlib.contextmanager
def serving(
    app: Path, settings: Mapping[str, str] | None = None, *arguments: str, log_folder: Path | None = None
) -> Iterator[RunningApp]:
    """The host on `app`, once it answers."""
    (port,) = ports.any_free(1)
    with started(app, (log_folder or app.parent) / "host.log", settings, "--port", str(port), *arguments) as program:
        support.wait_until(lambda: support.listens(port) or program.process.poll() is not None, "the host listens")
        assert program.process.poll() is None, program.output
        yield RunningApp(f"http://127.0.0.1:{port}", program)
