"""Writes the snapshot of what this tree stores: `python -m tests.stored.write_snapshot`.

Only for data that is new. A snapshot that differs in what was there before says that stored names have changed.
"""

from __future__ import annotations

import asyncio

from tests.stored.app import StoredApp
from tests.stored.history import write_history
from tests.stored.snapshot import SNAPSHOT_FILE, snapshot_of, to_text


async def new_snapshot() -> str:
    """The text of a snapshot that this tree writes."""
    app = StoredApp()
    await write_history(app)
    return to_text(snapshot_of(app))


if __name__ == "__main__":
    SNAPSHOT_FILE.write_text(asyncio.run(new_snapshot()), encoding="utf-8")
