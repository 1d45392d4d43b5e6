"""The server's clock: that of the machine, plus the seconds by which a test has moved it forward.

Time to live is counted in seconds; a test that wants to see a document expire moves the clock instead of
waiting.
"""

from __future__ import annotations

import time


class Clock:
    """Seconds since 1970; a test can only move them forward."""

    def __init__(self) -> None:
        self.ahead_seconds = 0.0

    def now(self) -> float:
        return time.time() + self.ahead_seconds

    def timestamp(self) -> int:
        """What `_ts` shows: whole seconds."""
        return int(self.now())

    def advance(self, seconds: float) -> None:
        """Move the clock forward."""
        self.ahead_seconds += seconds
