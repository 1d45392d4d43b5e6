"""A local Cosmos DB in a process of its own, for tests: started, ordered about, killed and started again."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from local.emulators.cosmos.http.options import EMULATOR_KEY
from local.process import ports

if TYPE_CHECKING:
    from pathlib import Path

STOP_SECONDS = 20


@dataclass
class LocalCosmos:
    """One server on one data folder; it keeps its port when it is started again."""

    folder: Path
    options: tuple[str, ...] = ()
    port: int = field(default_factory=lambda: ports.any_free(1)[0])
    process: subprocess.Popen[bytes] | None = None
    ready_line: str = ""

    @property
    def endpoint(self) -> str:
        return f"{'https' if '--https' in self.options else 'http'}://127.0.0.1:{self.port}"

    @property
    def key(self) -> str:
        return EMULATOR_KEY

    def start(self) -> LocalCosmos:
        command = [sys.executable, "-m", "local", "cosmos", "--port", str(self.port), "--data", str(self.folder)]
        self.process = subprocess.Popen(
            [*command, "--watch-stdin", *self.options], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.process.stdout is not None
        self.ready_line = self.process.stdout.readline().decode()
        assert "ready" in self.ready_line, "the server did not start: see its error output"
        return self

    def stop(self) -> int:
        """End the server politely; returns its exit code."""
        assert self.process is not None
        self.process.terminate()
        return self._ended()

    def kill(self) -> None:
        """End the server as a crash would."""
        assert self.process is not None
        self.process.kill()
        self._ended()

    def _ended(self) -> int:
        assert self.process is not None
        self.process.communicate(timeout=STOP_SECONDS)
        return self.process.returncode

    def order(self, **fault: Any) -> dict[str, Any]:
        """Switch a fault on, or split a range."""
        return self._post("_faults", fault)

    def advance_clock(self, seconds: float) -> None:
        self._post("_clock", {"advanceSeconds": seconds})

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(
            f"{self.endpoint}/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
