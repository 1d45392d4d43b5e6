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

from local.errors import ChildEndedError, LocalRunError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

READY_SECONDS = 60.0
STOP_SECONDS = 30.0
_POLL_SECONDS = 0.05
_SHOWN_LINES = 15


class Child:
    """One running process."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log_file: Path, *, watches_input: bool) -> None:
        self._watches_input = watches_input
        self.name = name
        self.log_file = log_file
        self._process = process
        self.ended = asyncio.create_task(process.wait())

    @classmethod
    async def start(
        cls,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        log_file: Path,
        lock: int,
        *,
        watches_input: bool = True,
    ) -> Child:
        """Start `command`; it inherits the data folder's lock and gets a pipe as standard input."""
        with log_file.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
                start_new_session=True,
                pass_fds=() if sys.platform == "win32" else (lock,),
            )
        return cls(name, process, log_file, watches_input=watches_input)

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    async def wait_until(self, is_ready: Callable[[], Awaitable[bool]]) -> None:
        """Return when the child is ready; raise when it ends before, or does not get ready in time."""
        try:
            async with asyncio.timeout(READY_SECONDS):
                while not await is_ready():
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
        lines = self.log_file.read_text(errors="replace").splitlines()[-_SHOWN_LINES:]
        return "\n".join(f"    {line}" for line in lines)

    async def stop(self) -> None:
        """Ask the child to stop in order by ending its input; kill it when it takes too long.

        One that does not watch its input, such as Core Tools, gets a signal as well.
        """
        if self._process.stdin is not None:
            self._process.stdin.close()
        if not self._watches_input and not self.ended.done():
            self._process.terminate()
        try:
            await asyncio.wait_for(asyncio.shield(self.ended), STOP_SECONDS)
        except TimeoutError:
            self._process.kill()
            await self.ended
