"""Showing a child's log while it grows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_POLL_SECONDS = 0.25


async def follow(log_file: Path, prefix: str) -> None:
    """Print each line that is added to `log_file`, behind `prefix`, until cancelled."""
    with log_file.open(encoding="utf-8", errors="replace") as lines:
        lines.seek(0, 2)
        unfinished = ""
        while True:
            text = lines.read()
            if not text:
                await asyncio.sleep(_POLL_SECONDS)
                continue
            *whole, unfinished = (unfinished + text).split("\n")
            for line in whole:
                print(prefix + line, flush=True)
