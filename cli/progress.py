"""Progress of long work, on standard error and only when that is a terminal."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Self

from cli.text import visible

_SHOW_SECONDS = 0.1


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
    """Replace the line of progress; one that is longer than the terminal could not be replaced again."""
    fits = line[: shutil.get_terminal_size().columns - 1]
    print(f"\r\033[K{fits}", end="", file=sys.stderr, flush=True)


def clear_line() -> None:
    """Remove the line of progress, if there is a terminal."""
    if sys.stderr.isatty():
        show_line("")


class Progress:
    """A bar with rate and remaining time."""

    def __init__(self, label: str, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}", markup=False),
            TimeRemainingColumn(),
        )
        self._bar = Bar(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty())
        self._task = self._bar.add_task(visible(label), total=total, rate="")
        self._pace = Pace(0, time.monotonic())
        self._done = 0
        self._shown = 0.0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._show(time.monotonic())
        self._bar.stop()

    def advance(self) -> None:
        """One more is done."""
        self._done += 1
        now = time.monotonic()
        if now - self._shown > _SHOW_SECONDS and not self._bar.disable:
            self._show(now)

    def _show(self, now: float) -> None:
        self._shown = now
        rate = self._pace.rate(self._done, now)
        self._bar.update(self._task, completed=self._done, rate=f"{rate:,.0f}/s")
