"""Showing a child's log while it grows: what calls for attention, or all of it."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_POLL_SECONDS = 0.25
# As `local.run.commands` writes it: date, time, level.
_LEVEL = re.compile(r"\d{4}-\d\d-\d\d \S+ ([A-Z]+) ")
_QUIET = frozenset({"DEBUG", "INFO"})


async def follow(log_file: Path, prefix: str, *, verbose: bool) -> None:
    """Print lines that are added to `log_file`, behind `prefix`, until cancelled; without `verbose` only warnings."""
    with log_file.open(encoding="utf-8", errors="replace") as lines:
        lines.seek(0, 2)
        unfinished, attention = "", Attention()
        while True:
            text = lines.read()
            if not text:
                await asyncio.sleep(_POLL_SECONDS)
                continue
            *whole, unfinished = (unfinished + text).split("\n")
            for line in whole:
                if attention.calls_for(line) or verbose:
                    print(prefix + line, flush=True)


class Attention:
    """Tells the lines that people should see: warnings and errors with what belongs to them, and all without level."""

    def __init__(self) -> None:
        self._is_wanted = True

    def calls_for(self, line: str) -> bool:
        """Whether to show this line, which follows those before."""
        if level := _LEVEL.match(line):
            self._is_wanted = level[1] not in _QUIET
        return self._is_wanted
