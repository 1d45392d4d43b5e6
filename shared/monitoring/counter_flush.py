"""Writes the counters of this instance to storage: soon after a change, and at most twice a minute.

If the process is killed, only the counts since the last write are lost. Counters are statistics, and a write per batch
would cost as much as the batch.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from shared.errors import StorageError
from shared.monitoring.counters import Counters

if TYPE_CHECKING:
    from collections import Counter

    from shared.monitoring.counter_rows import InstanceRow
    from shared.monitoring.counters import Measure
    from shared.tables.retry import Timing

EVERY_SECONDS: Final = 30.0
# Changes within this time are written together.
SOON_SECONDS: Final = 1.0

_log = logging.getLogger(__name__)


class FlushedCounters:
    """Counters that write themselves to the row of this instance."""

    def __init__(self, row: InstanceRow, timing: Timing) -> None:
        self.counters = Counters(self._note)
        self._row = row
        self._timing = timing
        self._written_at = -EVERY_SECONDS
        self._has_changed = False
        self._writing: asyncio.Task[None] | None = None

    @property
    def instance(self) -> str:
        """The key of this instance's row."""
        return self._row.instance

    def unwritten(self) -> Counter[Measure]:
        """The counts that are not written yet."""
        return self._row.unwritten(self.counters.now())

    async def write(self) -> None:
        """Write now."""
        self._has_changed = False
        await self._row.write(self.counters.now())
        self._written_at = self._timing.steady_seconds()

    def _note(self) -> None:
        self._has_changed = True
        if self._writing is None or self._writing.done():
            self._writing = asyncio.get_running_loop().create_task(self._write_soon())

    async def _write_soon(self) -> None:
        while self._has_changed:
            due = self._written_at + EVERY_SECONDS - self._timing.steady_seconds()
            await self._timing.sleep(max(SOON_SECONDS, due))
            try:
                await self.write()
            except StorageError as error:
                # Nothing is lost: the next write holds all of it, and the next count starts one.
                _log.warning("The counters were not written", extra={"error": type(error).__name__})
