"""When to stop: a signal, or the end of the process that started this one.

A supervisor gives each child a pipe as standard input and never writes to it. When the supervisor ends, however it
ends, the pipe does too, and the child stops by itself: no orphan is left behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from local.process.errors import StopRequestedError

if TYPE_CHECKING:
    from collections.abc import Coroutine

Result = TypeVar("Result")


class Stop:
    """A request to stop that everything in one process waits for."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def request(self) -> None:
        """Ask everything to stop."""
        self._event.set()

    @property
    def requested(self) -> bool:
        """Whether to stop now."""
        return self._event.is_set()

    async def wait(self) -> None:
        """Return when stopping is requested."""
        await self._event.wait()

    async def sleep(self, seconds: float) -> bool:
        """Wait for `seconds`, or until stopping is requested; return whether it is."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), seconds)
        return self.requested

    async def cuts_short(self, work: Coroutine[Any, Any, Result]) -> Result:
        """The result of `work`. When stopping is requested first, cancel it and raise `StopRequestedError`."""
        working, stopping = asyncio.create_task(work), asyncio.create_task(self.wait())
        try:
            await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise StopRequestedError("Stopping was requested.")
            return working.result()
        finally:
            working.cancel()
            stopping.cancel()
            await asyncio.gather(working, stopping, return_exceptions=True)

    def on_signals(self) -> None:
        """Stop on Ctrl-C and SIGTERM."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, self.request)
            except NotImplementedError:  # Windows
                signal.signal(number, lambda *_: loop.call_soon_threadsafe(self.request))

    def on_end_of_input(self) -> None:
        """Stop when standard input ends. A thread reads it: a pipe cannot be polled on every platform."""
        loop = asyncio.get_running_loop()

        def read_to_the_end() -> None:
            with contextlib.suppress(OSError):
                while os.read(sys.stdin.fileno(), 1024):
                    pass
            with contextlib.suppress(RuntimeError):  # the loop has ended before us
                loop.call_soon_threadsafe(self.request)

        threading.Thread(target=read_to_the_end, daemon=True, name="lifeline").start()
