"""What several kinds of tests use: waiting with a deadline, processes that always end, functions apps on disk."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

ROOT = Path(__file__).parent.parent
IN_CI = os.environ.get("CI") == "true"
# A condition that comes true ends a wait at once: this is for a machine that does ten other things.
DEADLINE_SECONDS = 90.0
_POLL_SECONDS = 0.02
# Runs a package as `python -m` does, and presses Ctrl-C when it imports a module.
_CTRL_C_AT_IMPORT = """
import os, runpy, signal, sys
module, package, *sys.argv[1:] = sys.argv[1:]
class CtrlC:
    def find_spec(self, name, *_):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, CtrlC())
runpy.run_module(package, run_name="__main__", alter_sys=True)
"""


def missing_service(reason: str) -> None:
    """Skip on a laptop, fail in CI: a missing service must never look like a pass there."""
    if IN_CI:
        pytest.fail(reason)
    pytest.skip(reason)


def wait_until(holds: Callable[[], bool], what: str, seconds: float = DEADLINE_SECONDS) -> None:
    """Return as soon as `holds()`; fail with `what` when that does not come in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            pytest.fail(f"after {seconds:g} s still not: {what}")
        time.sleep(_POLL_SECONDS)


def json_lines(*files: Path) -> list[dict[str, Any]]:
    """Every document of these files of JSON lines; a line that a process still writes is left for the next time."""
    lines: list[str] = []
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            lines += [line for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return [json.loads(line) for line in lines]


def listens(port: int) -> bool:
    """Whether something accepts connections on `port` of loopback."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def is_running(pid: int) -> bool:
    """Whether the process exists and is not a zombie that only waits to be collected."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@dataclass(frozen=True, slots=True)
class Program:
    """A process under test with its whole output in a file."""

    process: subprocess.Popen[bytes]
    output_file: Path

    @property
    def output(self) -> str:
        """Everything that it has printed so far."""
        return self.output_file.read_text(errors="replace")

    def wait(self, seconds: float = DEADLINE_SECONDS) -> int:
        """Its exit code, once it has ended."""
        return self.process.wait(seconds)


@contextlib.contextmanager
def running(
    command: Sequence[str], output_file: Path, environment: Mapping[str, str] | None = None
) -> Iterator[Program]:
    """A process for the length of the block: asked to end by the end of its input, killed if it does not."""
    with output_file.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
        )
    try:
        yield Program(process, output_file)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.terminate()
        try:
            process.wait(DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def local_command(*arguments: str) -> list[str]:
    """`python -m local …` with the Python that runs the tests."""
    return [sys.executable, "-m", "local", *arguments]


def ctrl_c_at_import(module: str, package: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`python -m PACKAGE …` that gets Ctrl-C while it is still loading, at the import of `module`."""
    command = [sys.executable, "-c", _CTRL_C_AT_IMPORT, module, package, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_SECONDS, check=False)
