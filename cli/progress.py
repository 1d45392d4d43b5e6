"""Progress of long work, on standard error and only when that is a terminal."""

from __future__ import annotations

import sys
import time
from typing import Self

_BAR_CELLS = 30
_REDRAW_SECONDS = 0.1


class Pace:
    """The rate of work since the first observation, and the remaining time at that rate."""

    def __init__(self, done: int, now_seconds: float) -> None:
        self._first = done
        self._since = now_seconds

    def rate(self, done: int, now_seconds: float) -> float:
        """How much is done in a second."""
        return (done - self._first) / max(now_seconds - self._since, 0.001)

    def left(self, done: int, total: int, now_seconds: float) -> str:
        """The remaining time; empty while it is not known."""
        rate = self.rate(done, now_seconds)
        return f"{(total - done) / rate:,.0f} s left" if rate > 0 and done <= total else ""


def show_line(line: str) -> None:
    """Replace the line of progress."""
    print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


def clear_line() -> None:
    """Remove the line of progress, if there is a terminal."""
    if sys.stderr.isatty():
        show_line("")


class Progress:
    """A bar with rate and remaining time."""

    def __init__(self, label: str, total: int) -> None:
        self._label = label
        self._total = total
        self._done = 0
        self._pace = Pace(0, time.monotonic())
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
        filled = _BAR_CELLS * self._done // max(self._total, 1)
        bar = "█" * filled + "░" * (_BAR_CELLS - filled)
        rate, left = self._pace.rate(self._done, now), self._pace.left(self._done, self._total, now)
        show_line(f"{self._label} {bar} {self._done}/{self._total}  {rate:,.0f}/s  {left}".rstrip())
