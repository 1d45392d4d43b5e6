"""The server's clock: that of the machine, plus the seconds by which a test has moved it forward.

Time to live is counted in seconds; a test that wants to see a document expire moves the clock instead of
waiting.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Clock:
    """Seconds since 1970; a test can only move them forward."""

    def __init__(self) -> None:
        self.ahead_seconds = 0.0
        self._held: float | None = None

    def now(self) -> float:
        return time.time() + self.ahead_seconds if self._held is None else self._held

    @contextmanager
    def held(self) -> Iterator[None]:
        """The clock stands still inside: all writes of a transaction have the same second."""
        self._held = self.now()
        try:
            yield
        finally:
            self._held = None

    def timestamp(self) -> int:
        """What `_ts` shows: whole seconds."""
        return int(self.now())

    def advance(self, seconds: float) -> None:
        """Move the clock forward."""
        self.ahead_seconds += seconds
