"""A sample instead of everything: some facts that the ledger knows, and for each of their entries its neighbour.

Facts are drawn from the next ledger buckets, as many as hold enough of them, and each fact that is passed is as likely
as any other: buckets hold facts by hash, so that any of them is a fair share of all. Of buckets that are very large
only some pages are read. The next sample goes on where this one stopped, so that each fact has its turn. Each fact is
examined as a whole. A neighbour, the entry that follows in the partition, finds rows that no fact leads to; ghosts
alone in their partition only a full verification finds.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, cast

from shared.entries.keys.fact_key import fact_hash
from shared.entries.keys.index_keys import split_row_key
from shared.entries.projection.generations import place_of
from shared.entries.rows.entry_row import is_tombstone
from shared.errors import TableMissingError
from shared.pipeline.concurrency import all_of
from shared.pipeline.ledger.debts import facts_of
from shared.pipeline.ledger.rows import LEDGER_TABLE, SOURCE_ETAG, bucket_partition, decode, ledger_partition
from shared.pipeline.ledger.without_expired_periods import without_expired_periods
from shared.tables.port import ROW_KEY, RowRange
from shared.tasks.bookmarks import Bookmark, Bookmarks
from shared.verification.examine import FactIdentity, contributor_of, owner_of
from shared.verification.suspects import ALL_SCANS, Suspects

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shared.definitions.model import Source
    from shared.entries.projection.generations import Generation, SourcePlan
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.ledger.rows import CurrentEntry
    from shared.tables.accounts import Accounts
    from shared.verification.confirm import Confirmer
    from shared.verification.examine import EntryAddress
    from shared.verification.report import DifferenceReport

SAMPLE_MAX: Final = 10_000
# Of the ledger, a thousand facts each.
PAGES: Final = 50
SAMPLE_WALK: Final = "sample"
_GROUP: Final = 100
_AFTER_VERSIONS: Final = "g"


class Sampling:
    """Draws facts and examines them. `chance` gives numbers from 0 up to 1."""

    def __init__(
        self,
        plan: SourcePlan,
        source: Source,
        generation: Generation,
        accounts: Accounts,
        run_all: RunAll,
        chance: Callable[[], float],
        now_seconds: Callable[[], float],
    ) -> None:
        self._now_seconds = now_seconds
        self._plan = plan
        self._levels = len(source.partition_key)
        self._generation = generation
        self._accounts = accounts
        self._run_all = run_all
        self._chance = chance
        self._bookmarks = Bookmarks(accounts.main, SAMPLE_WALK)

    async def run(self, size: int, confirmer: Confirmer, report: DifferenceReport, pages: int = PAGES) -> None:
        """Examine so many facts with their neighbours, after reading at most so many pages of the ledger."""
        drawn = await self._draw(size, pages)
        for start in range(0, len(drawn), _GROUP):
            suspects = Suspects()
            for fact_key in drawn[start : start + _GROUP]:
                _suspect(suspects, FactIdentity(fact_key))
            await self._add_neighbours(suspects, drawn[start : start + _GROUP])
            await confirmer.confirm_and_repair(suspects.take(), report)
        report.counts["ledgerRows"] += len(drawn)

    async def _draw(self, size: int, pages: int) -> list[str]:
        bookmark = await self._bookmarks.read(self._generation.id)
        bucket, continuation = bookmark.stretch, bookmark.continuation
        drawn, buckets_left = _Reservoir(size, self._chance), self._plan.buckets
        while pages > 0 and buckets_left > 0 and (continuation is not None or drawn.seen < size):
            rows = facts_of(bucket_partition(self._plan.source, bucket))
            # Rows keep their keys, so continuations are safe here.
            page = await self._accounts.main.query(LEDGER_TABLE, rows, select=(SOURCE_ETAG,), continuation=continuation)
            drawn.pass_by([cast(str, row.entity[ROW_KEY]) for row in page.rows])
            pages, continuation = pages - 1, page.continuation
            if continuation is None:
                bucket, buckets_left = (bucket + 1) % self._plan.buckets, buckets_left - 1
        await self._bookmarks.keep(self._generation.id, Bookmark(bucket, continuation))
        return drawn.kept

    async def _add_neighbours(self, suspects: Suspects, drawn: Sequence[str]) -> None:
        entries = await all_of(self._run_all, [partial(self._entries, fact_key) for fact_key in drawn])
        lookups = [partial(self._neighbour, entry) for entries_of_fact in entries for entry in entries_of_fact]
        for found in await all_of(self._run_all, lookups):
            if found is not None:
                fact, address = found
                _suspect(suspects, fact, address)

    async def _entries(self, fact_key: str) -> tuple[CurrentEntry, ...]:
        partition = ledger_partition(self._plan.source, fact_hash(fact_key), self._plan.buckets)
        row = await self._accounts.main.get(LEDGER_TABLE, partition, fact_key)
        state = None if row is None else decode(row.entity).states.get(self._generation.id)
        return () if state is None else without_expired_periods(state, self._generation, self._now_seconds()).current

    async def _neighbour(self, entry: CurrentEntry) -> tuple[FactIdentity, EntryAddress] | None:
        """The entry after this one; None when there is none, or a tombstone."""
        place = place_of(self._generation, entry.partition)
        tables = self._accounts.tables(place.account)
        is_summary = self._generation.index.is_summary
        after = RowRange(entry.partition, entry.entry_key, lower_inclusive=False)
        rows = after if is_summary else RowRange(entry.partition, entry.entry_key + _AFTER_VERSIONS)
        try:
            page = await tables.query(place.table, rows, limit=1)
        except TableMissingError:
            return None  # the entry itself is missing, which the examination of its fact finds
        if not page.rows or is_tombstone(page.rows[0].entity):
            return None
        entity = page.rows[0].entity
        found = cast(str, entity[ROW_KEY])
        if is_summary:
            return contributor_of(entity, found, self._levels), (entry.partition, found)
        entry_key, _ = split_row_key(found)
        return owner_of(entity, entry_key, self._levels), (entry.partition, entry_key)


class _Reservoir:
    """So many of all that pass by, each as likely as any other (Waterman's reservoir)."""

    def __init__(self, size: int, chance: Callable[[], float]) -> None:
        self.kept: list[str] = []
        self.seen = 0
        self._size = size
        self._chance = chance

    def pass_by(self, fact_keys: Sequence[str]) -> None:
        """Keep some of these, perhaps in the place of others."""
        for fact_key in fact_keys:
            self.seen += 1
            if len(self.kept) < self._size:
                self.kept.append(fact_key)
            elif (position := int(self._chance() * self.seen)) < self._size:
                self.kept[position] = fact_key


def _suspect(suspects: Suspects, fact: FactIdentity, address: EntryAddress | None = None) -> None:
    """Nothing has cleared a sampled fact of anything."""
    for scan in ALL_SCANS:
        suspects.add(fact, scan, address)
