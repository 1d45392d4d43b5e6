"""A child process of the local run: started in a group of its own, watched, stopped by ending its input.

Its output goes to a file and not through a pipe: when the supervisor is killed, a child that still has something to
say while it saves its data must not fail on a broken pipe.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from local.process.errors import LocalRunError
from local.run.errors import ChildEndedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from local.run.services import Service

READY_SECONDS = 60.0
STOP_SECONDS = 30.0
_POLL_SECONDS = 0.05
_SHOWN_LINES = 15


class Child:
    """One running service."""

    def __init__(self, service: Service, process: asyncio.subprocess.Process, log_file: Path, log_start: int) -> None:
        self.name = service.name
        self.log_file = log_file
        self._service = service
        self._process = process
        self._log_start = log_start
        self.ended = asyncio.create_task(process.wait())

    @classmethod
    async def start(cls, service: Service, ports: Sequence[int], log_file: Path, lock: int) -> Child:
        """Start the service; it inherits the data folder's lock and gets a pipe as standard input."""
        with log_file.open("ab") as output:
            log_start = output.tell()
            process = await asyncio.create_subprocess_exec(
                *service.command(ports),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **service.settings},
                start_new_session=True,
                pass_fds=() if sys.platform == "win32" else (lock,),
            )
        return cls(service, process, log_file, log_start)

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    async def wait_until_ready(self) -> None:
        """Return when the child has said so; raise when it ends before, or does not get ready in time."""
        try:
            async with asyncio.timeout(READY_SECONDS):
                while self._service.ready_line not in self._output():
                    if self.ended.done():
                        raise self.ended_error()
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            raise LocalRunError(
                f"{self.name} was not ready after {READY_SECONDS:g} s. Its last lines:\n{self.last_lines()}"
            ) from None

    def ended_error(self) -> ChildEndedError:
        """What to say when this child has ended by itself."""
        return ChildEndedError(f"{self.name} {self.how_it_ended()}. Its last lines:\n{self.last_lines()}")

    def how_it_ended(self) -> str:
        """In words: the exit code or the signal."""
        code = self.ended.result()
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"

    def last_lines(self) -> str:
        """The end of the child's output, indented."""
        return "\n".join(f"    {line}" for line in self._output().splitlines()[-_SHOWN_LINES:])

    async def stop(self) -> None:
        """Ask the child to stop in order by ending its input; kill it when it takes too long.

        One that does not watch its input, such as Core Tools, gets a signal as well.
        """
        if self._process.stdin is not None:
            self._process.stdin.close()
        if not self._service.watches_input and not self.ended.done():
            self._process.terminate()
        try:
            await asyncio.wait_for(asyncio.shield(self.ended), STOP_SECONDS)
        except TimeoutError:
            self._process.kill()
            await self.ended

    def _output(self) -> str:
        """What this child has printed; an earlier one's lines may stand before it in the file."""
        with self.log_file.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")
