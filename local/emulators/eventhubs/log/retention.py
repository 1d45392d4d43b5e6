"""Retention: which events a partition may forget, by their age and by its size."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from local.emulators.eventhubs.log.hubs import Partition
    from local.emulators.eventhubs.log.store import EventStore

# The service promises no exact moment either.
SWEEP_SECONDS = 30.0
# Deleting this many takes some ten milliseconds, in which the server answers no client.
EVENTS_PER_TURN = 5_000


@dataclass(frozen=True, slots=True)
class Retention:
    """How long events are kept, and how many bytes of them per partition; None is without end."""

    max_age_ms: int | None
    max_partition_bytes: int | None

    async def apply(self, store: EventStore, now_ms: int) -> None:
        """Forget what is too old or too much, in every partition; clients are served in between."""
        for hub in store.hubs:
            for partition in hub.partitions:
                begin = self._begin_sequence(store, partition, now_ms)
                while partition.begin_sequence < begin:
                    store.trim(partition, min(begin, partition.begin_sequence + EVENTS_PER_TURN))
                    await asyncio.sleep(0)

    def _begin_sequence(self, store: EventStore, partition: Partition, now_ms: int) -> int:
        begin = partition.begin_sequence
        if self.max_age_ms is not None:
            oldest_ms = now_ms - self.max_age_ms
            begin = max(begin, store.first_sequence(partition, "enqueued_ms", oldest_ms, inclusive=True))
        if self.max_partition_bytes is not None:
            # An offset is the number of bytes that were stored before its event.
            lowest = partition.next_offset - self.max_partition_bytes
            begin = max(begin, store.first_sequence(partition, "offset", lowest, inclusive=True))
        return begin
