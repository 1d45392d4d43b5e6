"""Function hosts in processes of their own, which tests kill and start again on the same services."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

from local.process import ports
from tests.support import DEADLINE_SECONDS, ROOT, local_command

if TYPE_CHECKING:
    from pathlib import Path

APPLIED = "Batch applied"


@dataclass
class Host:
    """This project's app on a port; every start has a log of its own."""

    name: str
    folder: Path
    settings: dict[str, str]
    port: int = field(default_factory=lambda: ports.any_free(1)[0])
    starts: int = 0
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; whether it is ready is for the caller to see."""
        self.starts += 1
        command = local_command("host", "--app", str(ROOT), "--port", str(self.port), "--watch-stdin")
        with self._log_file.open("wb") as log:
            self.process = _popen(command, log, {**os.environ, **self.settings})

    def kill(self) -> None:
        """End it as a crash does."""
        assert self.process is not None
        self.process.kill()
        self.process.communicate()

    def stop(self) -> None:
        """End it in order, or else by force."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.communicate(timeout=DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    @property
    def applied_batches(self) -> int:
        """How many batches it has applied since its start."""
        assert self.process is not None
        assert self.process.poll() is None, f"{self.name} ended by itself:\n{self.output[-3000:]}"
        return self.output.count(APPLIED)

    @property
    def output(self) -> str:
        """What it has printed since its start."""
        return self._log_file.read_text(errors="replace")

    @property
    def all_output(self) -> str:
        """What all its starts have printed."""
        return "".join(path.read_text(errors="replace") for path in sorted(self.folder.glob(f"{self.name}-*.log")))

    @property
    def _log_file(self) -> Path:
        return self.folder / f"{self.name}-{self.starts:03d}.log"


def _popen(command: list[str], log: IO[bytes], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, env=environment
    )
