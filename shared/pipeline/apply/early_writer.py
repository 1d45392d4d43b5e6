"""Writes rows of facts that are claimed while others are still being claimed.

Full transactions go out at once. In a small batch, where waiting is what takes the time, so does a group that no other
fact of the batch can add rows to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.pipeline.entry_writes.expected import Expected
from shared.pipeline.entry_writes.writes import apart

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shared.pipeline.apply.claimed import ClaimedChange
    from shared.pipeline.entry_writes.entry_writer import EntryWriter
    from shared.pipeline.entry_writes.transaction_buffer import TransactionBuffer


class EarlyWriter:
    """Watches one batch."""

    def __init__(self, writer: EntryWriter, live_rows: TransactionBuffer, *, is_small: bool) -> None:
        self._writer = writer
        self._live_rows = live_rows
        self._is_small = is_small
        self._expected = Expected(0)

    def begins(self, buckets: int) -> None:
        """So many buckets are about to be projected."""
        self._expected = Expected(buckets)

    def projected(self, works: Sequence[ClaimedChange]) -> None:
        """Learn where the facts of a bucket may write."""
        if self._is_small:
            self._expected.projected(_partitions(works))

    async def claimed(self, works: Sequence[ClaimedChange], claimed: Sequence[ClaimedChange]) -> None:
        """Write what is complete."""
        _, of_entries = apart([(work.fact, writes) for work in claimed for writes in work.decision.writes])
        await self._writer.add_known(self._live_rows, of_entries)
        if self._is_small:
            await self._live_rows.send_partitions(self._expected.settled(_partitions(works)))


def _partitions(works: Iterable[ClaimedChange]) -> set[str]:
    return {
        entry.partition_key
        for work in works
        for projection in work.projected
        if projection.generation.layout is None
        for entry in projection.entries
    }
