"""Reading the items of a scope one after the other, in an order that changes of the items do not disturb.

Items come by partition key and id, so a query that pauses between pages neither skips nor repeats an item
that is updated meanwhile.
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

Position = tuple[str, str]

# Other requests are served between two chunks of a long scan.
_CHUNK_ROWS = 500


@dataclass(frozen=True, slots=True)
class Scan:
    """The items of a scope."""

    store: DocumentStore
    clock: Clock
    scope: Scope

    async def rows(self, after: Position | None) -> AsyncIterator[tuple[Position, bytes]]:
        """Position and document of each item behind `after`, or of all."""
        while True:
            chunk = self._chunk(after)
            for key, item_id, body in chunk:
                yield (key, item_id), body
            if len(chunk) < _CHUNK_ROWS:
                return
            after = chunk[-1][:2]
            await asyncio.sleep(0)

    def _chunk(self, after: Position | None) -> list[tuple[str, str, bytes]]:
        conditions, values = self.scope.of_items()
        if after is not None:
            conditions += " AND (i.key, i.id) > (?, ?)"
            values.extend(after)
        return self.store.execute(
            "SELECT i.key, i.id, v.body FROM items i JOIN versions v"
            " ON v.container = i.container AND v.range = i.range AND v.lsn = i.lsn"
            f" WHERE {conditions} AND (i.expires IS NULL OR i.expires > ?)"
            f" ORDER BY i.key, i.id LIMIT {_CHUNK_ROWS}",
            (*values, self.clock.timestamp()),
        ).fetchall()
