"""Progress of long work, on standard error and only when that is a terminal."""

from __future__ import annotations

import sys
import time
from typing import Self

_BAR_CELLS = 30
_REDRAW_SECONDS = 0.1


class Progress:
    """A bar with rate and remaining time."""

    def __init__(self, label: str, total: int) -> None:
        self._label = label
        self._total = total
        self._done = 0
        self._started = time.monotonic()
        self._drawn = 0.0
        self._shows = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._shows:
            self._draw(time.monotonic())
            print(file=sys.stderr)

    def advance(self) -> None:
        """One more is done."""
        self._done += 1
        now = time.monotonic()
        if self._shows and now - self._drawn > _REDRAW_SECONDS:
            self._draw(now)

    def _draw(self, now: float) -> None:
        self._drawn = now
        elapsed_seconds = max(now - self._started, 1e-9)
        rate = self._done / elapsed_seconds
        left_seconds = (self._total - self._done) / rate if rate else 0.0
        filled = _BAR_CELLS * self._done // max(self._total, 1)
        bar = "█" * filled + "░" * (_BAR_CELLS - filled)
        line = f"{self._label} {bar} {self._done}/{self._total}  {rate:,.0f}/s  {left_seconds:.0f} s left"
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
