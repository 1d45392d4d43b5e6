"""Writes rows of facts that are claimed while others are still being claimed.

Full transactions go out at once. In a small batch, where waiting is what takes the time, so does a group that no other
fact of the batch can add rows to. When the last fact is settled, three things go out side by side: rows that can be
written, a look at the rows that are not known, and the sweep message. That names tombstones before they are written,
which is safe: it is read long after the worker has ended, and a key without its tombstone is left as it is.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from shared.entries.projection.generations import place_of
from shared.pipeline.cleanup.messages import tombstones_of
from shared.pipeline.concurrency import all_of
from shared.pipeline.entry_writes.expected import Expected, Reach
from shared.pipeline.entry_writes.writes import apart

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shared.pipeline.apply.claimed import ClaimedChange, Writers
    from shared.pipeline.concurrency import RunAll, Work
    from shared.pipeline.entry_writes.look import Looked
    from shared.pipeline.entry_writes.transaction_buffer import TransactionBuffer
    from shared.pipeline.entry_writes.writes import GenerationWrites

    FactWrites: TypeAlias = "Sequence[tuple[str, GenerationWrites]]"


class EarlyWriter:
    """Watches one batch. `looked` has the rows that were not known; `not_announced` says why no message was sent, and
    `left_out` has the writes whose tombstones it does not name."""

    def __init__(self, writers: Writers, live_rows: TransactionBuffer, run_all: RunAll, *, is_small: bool) -> None:
        self.looked: Looked = {}
        self.not_announced: Exception | None = None
        self.left_out: FactWrites = []
        self._writers = writers
        self._live_rows = live_rows
        self._run_all = run_all
        self._is_small = is_small
        self._expected = Expected(0)
        # By bucket.
        self._reaches: dict[str, Reach] = {}
        self._unsettled = 0
        self._claimed: list[ClaimedChange] = []

    def begins(self, buckets: int) -> None:
        """So many buckets are about to be projected. A single one waits for no other."""
        self._is_small = self._is_small and buckets > 1
        self._expected = Expected(buckets)
        self._unsettled = buckets

    def projected(self, works: Sequence[ClaimedChange]) -> None:
        """Learn where the facts of a bucket may write."""
        if self._is_small:
            reach = self._reaches[_bucket(works)] = _reach(works)
            self._expected.projected(reach)

    async def claimed(self, works: Sequence[ClaimedChange], claimed: Sequence[ClaimedChange]) -> None:
        """Write what is complete."""
        self._claimed += claimed
        self._unsettled -= 1
        if self._unsettled:
            await self._write(works, claimed)
            return
        all_writes = _of_entries(self._claimed)
        is_known = not any(writes.must_list for _, writes in all_writes)
        side_by_side: list[Work[None]] = [
            # Rows that are being looked at may join what is not full.
            partial(self._write_last, claimed) if is_known else partial(self._write, works, claimed),
            partial(self._look, all_writes),
            partial(self._announce, all_writes),
        ]
        await all_of(self._run_all, side_by_side)

    async def _write(self, works: Sequence[ClaimedChange], claimed: Sequence[ClaimedChange]) -> None:
        await self._writers.entries.add_known(self._live_rows, _of_entries(claimed))
        if self._is_small:
            await self._live_rows.send_places(self._expected.settled(self._reaches[_bucket(works)]))

    async def _write_last(self, claimed: Sequence[ClaimedChange]) -> None:
        await self._writers.entries.finish_known(self._live_rows, _of_entries(claimed))

    async def _look(self, all_writes: FactWrites) -> None:
        self.looked = await self._writers.entries.look(all_writes)

    async def _announce(self, all_writes: FactWrites) -> None:
        """Not those of an account that is down, which are most likely not written."""
        down = self._writers.entries.calls.down
        self.left_out = [(fact, writes) for fact, writes in all_writes if writes.account in down]
        named = [(fact, writes) for fact, writes in all_writes if writes.account not in down] if down else all_writes
        try:
            await self._writers.announce(tombstones_of(named))
        except Exception as error:  # whichever facts the message named: the batch comes back as a whole
            self.not_announced = error


def _of_entries(works: Iterable[ClaimedChange]) -> FactWrites:
    _, of_entries = apart([(work.fact, writes) for work in works for writes in work.decision.writes])
    return of_entries


def _bucket(works: Sequence[ClaimedChange]) -> str:
    """Its partition in the ledger; empty when all of its changes wait."""
    return works[0].key[0] if works else ""


def _reach(works: Iterable[ClaimedChange]) -> Reach:
    """Where the first wave of these facts may write, before they are claimed. A fact that has no entries any more may
    have tombstones there: beside the entries that the cached ledger row lists, or anywhere."""
    reach = Reach(set(), set())
    for work in works:
        for generation, entries, _ in work.projected:
            if generation.layout is not None:
                continue
            partitions = {entry.partition_key for entry in entries}
            if not entries and not work.known.is_cached:
                reach.tables.add(generation.table)
            elif not entries and (state := work.known.row.states.get(generation.id)) is not None:
                partitions = {entry.partition for entry in state.current} | {entry.partition for entry in state.removed}
            reach.places.update([place_of(generation, partition) for partition in partitions])
    return reach
