"""Ledger retention: deletes the ledger rows of facts that were deleted long ago.

Rows stay that long because a replay, a lagging hub partition or an old build page would otherwise bring the fact back.
A row is deleted only if it has not changed since it was read, if it says when the fact was deleted or when its last
entry expired, and if it has no current entry in any generation. A fact that a filter excludes is not deleted.

A row that still lists keys of entries that its fact had is kept for another round: their tombstones were not swept, as
when a message was lost. They are announced again, since nothing else remembers them.

Entries in tables per period disappear with their table, and the ledger row does not record when. For sources with such
an index, whole rows are read, and a row is deleted when all of its entries have been over for the retention. There may
be millions of such rows, so they are deleted in transactions of a hundred.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from shared.errors import OperationFailedError
from shared.pipeline.ledger.debts import facts_of
from shared.pipeline.ledger.rows import DELETED_AT, EXPIRED_AT, LEDGER_TABLE, bucket_partition, decode
from shared.pipeline.ledger.without_expired_periods import without_expired_periods
from shared.tables.limits import OPERATIONS_MAX
from shared.tables.port import ROW_KEY, Delete
from shared.tasks.bookmarks import Bookmark, Bookmarks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from shared.entries.projection.generations import Generation, SourcePlan
    from shared.pipeline.ledger.rows import CurrentEntry, LedgerRow
    from shared.tables.port import Continuation, Page, Row, Tables

# What one run does before it leaves the rest to the next: how many pages of a thousand facts it reads, and how many
# facts it reads again to delete them. Either takes minutes at most, so a run ends long before functionTimeout.
PAGES: Final = 1000
LOOKS: Final = 10_000
# From the end of one round through a ledger to the start of the next: with a run every hour, that is one round a day.
REST_SECONDS: Final = 23 * 3600
_WALK: Final = "retention"

_log = logging.getLogger(__name__)


class Retention:
    """Cleans a bounded part of the ledger in each run, and continues there in the next, round after round."""

    def __init__(
        self,
        ledger: Tables,
        retention_seconds: int,
        now_seconds: Callable[[], float],
        announce_listed: Callable[[SourcePlan, LedgerRow], Awaitable[bool]],
    ) -> None:
        self._ledger = ledger
        self._announce_listed = announce_listed
        self._retention_seconds = retention_seconds
        self._now_seconds = now_seconds
        self._bookmarks = Bookmarks(ledger, _WALK)

    async def clean(self, plans: Iterable[SourcePlan], pages: int = PAGES, looks: int = LOOKS) -> int:
        """Continue through the ledger of every source, each as far as its share of a run allows; return how many rows
        were deleted."""
        forgotten = 0
        awake = [(plan, bookmark) for plan in plans if (bookmark := await self._awake(plan.source)) is not None]
        for plan, bookmark in awake:
            shares = [max(1, whole // len(awake)) for whole in (pages, looks)]
            forgotten += await self._clean(plan, bookmark, *shares)
        _log.info("Ledger cleaned", extra={"forgotten": forgotten})
        return forgotten

    async def forget_bookmarks_but_of(self, plans: Iterable[SourcePlan]) -> None:
        """Forget where it stopped in sources that are gone."""
        await self._bookmarks.forget_others(plan.source for plan in plans)

    async def _awake(self, source: str) -> Bookmark | None:
        """Where to continue with a source; None while it rests."""
        bookmark = await self._bookmarks.read(source)
        return None if bookmark.is_resting(self._now_seconds(), REST_SECONDS) else bookmark

    async def _clean(self, plan: SourcePlan, bookmark: Bookmark, pages: int, looks: int) -> int:
        bucket, continuation = bookmark.stretch, bookmark.continuation
        forgotten = 0
        while bucket < plan.buckets and pages > 0 and looks > 0:
            partition = bucket_partition(plan.source, bucket)
            page = await self._page(plan, partition, continuation)
            if plan.has_periods:
                ended = [row for row in page.rows if await self._may_forget(row, plan)]
                forgotten += await self._forget_together(partition, ended)
                looks -= -(-len(ended) // OPERATIONS_MAX)
            else:
                keys = self._ended(page)
                forgotten += sum([await self._forget(plan, partition, fact_key) for fact_key in keys])
                looks -= len(keys)
            pages, continuation = pages - 1, page.continuation
            bucket += continuation is None
        is_over = bucket >= plan.buckets
        now = Bookmark.at_end(self._now_seconds()) if is_over else Bookmark(bucket, continuation)
        await self._bookmarks.keep(plan.source, now)
        return forgotten

    async def _page(self, plan: SourcePlan, partition: str, continuation: Continuation | None) -> Page:
        """A page of rows, without their states if these are not needed. Rows never change their keys: continuations are
        safe here."""
        select = () if plan.has_periods else (DELETED_AT, EXPIRED_AT)
        return await self._ledger.query(LEDGER_TABLE, facts_of(partition), select=select, continuation=continuation)

    def _ended(self, page: Page) -> list[str]:
        """The keys of facts on a page that were deleted long ago, or whose last entry expired long ago."""
        limit_seconds = self._limit_seconds()
        found = []
        for row in page.rows:
            ended_at = row.entity.get(DELETED_AT, row.entity.get(EXPIRED_AT))
            if isinstance(ended_at, int) and ended_at <= limit_seconds:
                found.append(cast(str, row.entity[ROW_KEY]))
        return found

    def _limit_seconds(self) -> float:
        return self._now_seconds() - self._retention_seconds

    def _is_forgettable(self, row: LedgerRow, plan: SourcePlan) -> bool:
        """Whether a fact ended long enough ago and has no entries any more. Entries of a retired generation do not
        count: they are gone with its table. Entries of a generation that this worker does not know do count."""
        limit_seconds, ended_at = self._limit_seconds(), row.ended_at_seconds
        known = {generation.id: generation for generation in plan.generations}
        # What an account is owed may be the removal of an entry that it still shows.
        if any(state.owed for generation, state in row.states.items() if generation not in plan.retired):
            return False
        current = [
            (known.get(generation), state.current)
            for generation, state in row.states.items()
            if state.current and generation not in plan.retired
        ]
        # Code that does not know a generation leaves its state behind, which says nothing of when a newer change came.
        newest = max([state.version for state in row.states.values()], default="")
        kept = [state for generation, state in row.states.items() if generation not in plan.retired]
        is_dated = any(state.current and state.version == newest for state in kept)
        has_ended = is_dated if ended_at is None else ended_at <= limit_seconds
        return has_ended and all(_is_over(generation, entries, limit_seconds) for generation, entries in current)

    async def _may_forget(self, found: Row, plan: SourcePlan) -> bool:
        row = decode(found.entity)
        if not self._is_forgettable(row, plan):
            return False
        now_seconds = self._now_seconds()
        known = {generation.id: generation for generation in plan.generations}
        states = {
            generation: without_expired_periods(state, known[generation], now_seconds)
            for generation, state in row.states.items()
            if generation in known
        }
        return not await self._announce_listed(plan, replace(row, states=states))

    async def _forget(self, plan: SourcePlan, partition: str, fact_key: str) -> int:
        row = await self._ledger.get(LEDGER_TABLE, partition, fact_key)
        if row is None or not await self._may_forget(row, plan):
            return 0
        return await self._forget_together(partition, [row])

    async def _forget_together(self, partition: str, rows: Sequence[Row]) -> int:
        """Delete rows that have not changed since they were read; a row that was written meanwhile is not old."""
        forgotten = 0
        for start in range(0, len(rows), OPERATIONS_MAX):
            group = rows[start : start + OPERATIONS_MAX]
            deletes = [Delete(partition, cast(str, row.entity[ROW_KEY]), row.etag) for row in group]
            while deletes:
                try:
                    await self._ledger.transact(LEDGER_TABLE, deletes)
                    forgotten += len(deletes)
                    break
                except OperationFailedError as error:
                    del deletes[error.index]
        return forgotten


def _is_over(generation: Generation | None, entries: Sequence[CurrentEntry], at_seconds: float) -> bool:
    return generation is not None and all(generation.is_over(entry.partition, at_seconds) for entry in entries)
