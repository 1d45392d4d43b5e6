"""Time to live: items whose time is over are removed once a second, each as a change of its own."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from local.emulators.cosmos.data.clock import Clock
    from local.emulators.cosmos.data.containers import Containers
    from local.emulators.cosmos.data.databases import Databases
    from local.emulators.cosmos.data.items import Items
    from local.emulators.cosmos.data.store import DocumentStore

logger = logging.getLogger(__name__)

_INTERVAL_SECONDS = 1.0
_BATCH_ROWS = 200


@dataclass(frozen=True, slots=True)
class Expiry:
    """Removes expired items of all containers."""

    store: DocumentStore
    clock: Clock
    databases: Databases
    containers: Containers
    items: Items

    async def run(self) -> None:
        """Sweep for ever."""
        while True:
            try:
                while self.sweep():
                    await asyncio.sleep(0)
            except sqlite3.Error:
                logger.exception("Expired items could not be removed; the next sweep tries again")
            await asyncio.sleep(_INTERVAL_SECONDS)

    def sweep(self) -> int:
        """Remove some of the expired items; returns how many there were."""
        rows = self.store.execute(
            "SELECT d.name, c.name, i.key, i.id FROM items i JOIN containers c ON c.number = i.container"
            f" JOIN databases d ON d.number = c.database WHERE i.expires <= ? LIMIT {_BATCH_ROWS}",
            (self.clock.timestamp(),),
        ).fetchall()
        if rows:
            with self.store.transaction():
                for database, name, key, item_id in rows:
                    container = self.containers.read(self.databases.read(database), name)
                    self.items.expire(container, container.partition_key.of_header(key), item_id)
        return len(rows)
