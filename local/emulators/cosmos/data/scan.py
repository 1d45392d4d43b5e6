"""Reading the items of a scope one after the other, in an order that changes of the items do not disturb.

Items come as they were created, range by range, as in the service. A query that pauses between pages neither skips nor
repeats an item that is updated meanwhile.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from local.emulators.cosmos.data.clock import Clock
    from local.emulators.cosmos.data.scope import Scope
    from local.emulators.cosmos.data.store import DocumentStore

# Serial numbers begin above it.
START = 0
# Other requests are served between two chunks of a long scan.
_CHUNK_ROWS = 500


@dataclass(frozen=True, slots=True)
class Scan:
    """The items of a scope."""

    store: DocumentStore
    clock: Clock
    scope: Scope

    async def rows(self, after: int = START) -> AsyncIterator[tuple[int, bytes]]:
        """Serial number and document of each item behind the one with the serial number `after`."""
        while True:
            chunk = self._chunk(after)
            for row in chunk:
                yield row
            if len(chunk) < _CHUNK_ROWS:
                return
            after = chunk[-1][0]
            await asyncio.sleep(0)

    def _chunk(self, after: int) -> list[tuple[int, bytes]]:
        conditions, values = self.scope.of_items()
        # A partition key is found by the primary key; the sign keeps SQLite from walking the whole container instead.
        serial = "+i.serial" if self.scope.key else "i.serial"
        return self.store.execute(
            "SELECT i.serial, v.body FROM items i JOIN versions v"
            " ON v.container = i.container AND v.range = i.range AND v.lsn = i.lsn"
            f" WHERE {conditions} AND {serial} > ? AND (i.expires IS NULL OR i.expires > ?)"
            f" ORDER BY {serial} LIMIT {_CHUNK_ROWS}",
            (*values, after, self.clock.timestamp()),
        ).fetchall()
