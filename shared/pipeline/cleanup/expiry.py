"""Expiry: removes expired entries from their table and from the ledger, long after lookups have stopped showing them.

The steps, for each entry:
1. A walk through the tables of indexes with `expire` finds its row and sends a sweep message.
2. The message arrives after the sweep delay. By then every request of an older version than the row's has landed or
   never will: such a request belongs to a worker that read the ledger before the row's version was claimed.
3. If the row is still there, the ledger row drops the entry from its state. The state keeps its version, and the write
   fails if another worker claims the fact at the same time. From then on, a redelivery of that version does not write
   the entry again.
4. The row and all older rows of its entry key are deleted in one transaction, each only if it has not changed since it
   was listed. A newer row stays.

A crash between 3 and 4, or a late request that brings the row back, leaves a row that no lookup shows: the next walk
finds it. Entries of indexes with tables per period need none of this: see `shared.catalog.period_tables`.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from shared.entries.keys.fact_key import fact_hash
from shared.entries.keys.index_keys import split_row_key
from shared.entries.projection.generations import Place
from shared.entries.rows.columns import EXPIRES, FACT, fact_key_of
from shared.entries.rows.entry_row import is_expired
from shared.errors import OperationFailedError, StorageUnavailableError, TableMissingError
from shared.pipeline.cleanup.messages import Expired, Tombstone, from_message, to_messages
from shared.pipeline.cleanup.sweeper import delete_rows
from shared.pipeline.concurrency import all_of
from shared.pipeline.entry_writes.stored_rows import list_rows_of
from shared.pipeline.ledger.rows import LEDGER_TABLE, decode, encode, ledger_partition
from shared.pipeline.summaries.sweeping import GoneContribution
from shared.tables.port import PARTITION_KEY, ROW_KEY, Replace
from shared.tasks.bookmarks import Bookmark, Bookmarks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shared.entries.projection.generations import Generation, SourcePlan
    from shared.entries.rows.columns import Columns
    from shared.pipeline.cleanup.messages import SweepQueue, Swept
    from shared.pipeline.cleanup.sweeper import Sweeper
    from shared.pipeline.cleanup.swept_keys import SweptKeys
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.ledger.rows import LedgerRow
    from shared.tables.accounts import Accounts
    from shared.tables.port import Row, Tables

# Pages of a thousand rows per walk: a walk every 15 minutes gets through ten million rows in about a day.
WALK_PAGES: Final = 100
# How many sweep delays pass between two rounds through a table: a message is processed some time after its delay.
REST_DELAYS: Final = 1.25
_WALK: Final = "expiry"
_MORE_OF_FACT: Final = f"{FACT}_1"
_COLUMNS: Final = (EXPIRES, FACT, _MORE_OF_FACT)

_log = logging.getLogger(__name__)


class ExpiryWalk:
    """Finds expired entries, some pages at a time. A bookmark keeps where it stopped.

    After a round through a table it rests, so that the sweep can remove what was found: no entry is announced twice.
    """

    def __init__(
        self, accounts: Accounts, queue: SweepQueue, now_seconds: Callable[[], float], sweep_delay_seconds: float
    ) -> None:
        self._accounts = accounts
        self._queue = queue
        self._now_seconds = now_seconds
        self._rest_seconds = REST_DELAYS * sweep_delay_seconds
        self._bookmarks = Bookmarks(accounts.main, _WALK)

    async def walk(self, plans: Iterable[SourcePlan], pages: int = WALK_PAGES) -> int:
        """Continue through every table whose entries expire, at most `pages` of each; return how many were found. An
        account that does not answer does not stop the others; its error is raised in the end."""
        found = 0
        unavailable: StorageUnavailableError | None = None
        walked = [*plans]
        await self._bookmarks.forget_others(
            _name(generation, account)
            for plan in walked
            for generation in plan.generations
            for account, _ in generation.tables()
        )
        for plan in walked:
            for generation in plan.generations:
                # With tables per period, the generation's own table holds only entries that never expire.
                if generation.index.expire is not None and generation.periods is None:
                    for account, _ in sorted(generation.tables()):
                        try:
                            found += await self._walk_table(plan, generation, account, pages)
                        except StorageUnavailableError as error:
                            unavailable = unavailable or error
        _log.info("Walked for expired entries", extra={"found": found})
        if unavailable is not None:
            raise unavailable
        return found

    async def _walk_table(self, plan: SourcePlan, generation: Generation, account: str, pages: int) -> int:
        name = _name(generation, account)
        bookmark = await self._bookmarks.read(name)
        if bookmark.is_resting(self._now_seconds(), self._rest_seconds):
            return 0
        continuation, found = bookmark.continuation, 0
        for _ in range(pages):
            try:
                page = await self._accounts.tables(account).query(
                    generation.table, None, select=_COLUMNS, continuation=continuation
                )
            except TableMissingError:
                return found  # no fact of this index has arrived yet
            expired = [row for row in page.rows if is_expired(row.entity, self._now_seconds())]
            await self._announce([await self._expired(plan, generation, account, row) for row in expired])
            found += len(expired)
            continuation = page.continuation
            if continuation is None:
                break
        is_over = continuation is None
        now = Bookmark.at_end(self._now_seconds()) if is_over else Bookmark(continuation=continuation)
        await self._bookmarks.keep(name, now)
        return found

    async def _announce(self, expired: Sequence[Expired]) -> None:
        for message in to_messages(expired):
            await self._queue.send(message)

    async def _expired(self, plan: SourcePlan, generation: Generation, account: str, row: Row) -> Expired:
        row_key = cast(str, row.entity[ROW_KEY])
        place = Place(account, generation.table, cast(str, row.entity[PARTITION_KEY]))
        fact_key = fact_key_of(await self._whole(place, row))
        partition = ledger_partition(plan.source, fact_hash(fact_key), plan.buckets)
        return Expired(place, *split_row_key(row_key), generation.id, partition, fact_key)

    async def _whole(self, place: Place, row: Row) -> Columns:
        """The columns that identify the fact of a row. If a long id takes more than were selected, read them all."""
        entity = row.entity
        if _MORE_OF_FACT in entity:
            tables = self._accounts.tables(place.account)
            whole = await tables.get(place.table, place.partition, cast(str, entity[ROW_KEY]))
            entity = entity if whole is None else whole.entity
        return cast("Columns", entity)


def _name(generation: Generation, account: str) -> str:
    return f"{generation.id} {account}"


class Expirer:
    """Removes the expired entries that sweep messages name."""

    def __init__(self, accounts: Accounts, run_all: RunAll, now_seconds: Callable[[], float]) -> None:
        self._accounts = accounts
        self._run_all = run_all
        self._now_seconds = now_seconds

    async def remove(self, expired: Sequence[Expired]) -> int:
        """Remove them all; return how many were removed. Raises when storage fails, so that the message comes back."""
        removed = sum(await all_of(self._run_all, [partial(self._remove, entry) for entry in expired]))
        _log.info("Expired entries removed", extra={"named": len(expired), "removed": removed})
        return removed

    async def _remove(self, expired: Expired) -> bool:
        try:
            return await self._try(expired)
        except (OperationFailedError, TableMissingError):
            # Another worker changed the fact, and the next walk finds what remains; or the table is gone.
            return False

    async def _try(self, expired: Expired) -> bool:
        place = expired.place
        tables = self._accounts.tables(place.account)
        listed = await list_rows_of(tables, place.table, place.partition, expired.entry_key)
        rows = [row for row in listed if row.version <= expired.version]
        if not rows or rows[0].version != expired.version or not self._is_over(rows[0].expires_seconds):
            return False
        await self._drop_from_ledger(self._accounts.main, expired)
        await delete_rows(tables, place, rows)
        return True

    def _is_over(self, expires_seconds: int | None) -> bool:
        return expires_seconds is not None and expires_seconds <= self._now_seconds()

    async def _drop_from_ledger(self, ledger: Tables, expired: Expired) -> None:
        """Drop the entry from the ledger row, if it lists it; raises when another worker writes the row meanwhile."""
        found = await ledger.get(LEDGER_TABLE, expired.ledger_partition, expired.fact_key)
        if found is None:
            return
        row = decode(found.entity)
        without = _without(row, expired, int(self._now_seconds()))
        if without is not row:
            entity = encode(without, expired.ledger_partition, expired.fact_key)
            await ledger.transact(LEDGER_TABLE, [Replace(entity, found.etag)])


def _without(row: LedgerRow, expired: Expired, now_seconds: int) -> LedgerRow:
    """The row without the entry; the same object when it does not list the entry."""
    state = row.states.get(expired.generation)
    if state is None:
        return row
    dropped = (expired.place.partition, expired.entry_key, expired.version)
    current = tuple([entry for entry in state.current if (entry.partition, entry.entry_key, entry.version) != dropped])
    if len(current) == len(state.current):
        return row
    states = {**row.states, expired.generation: replace(state, current=current)}
    is_last = row.deleted_at_seconds is None and not any(other.current for other in states.values())
    return replace(row, states=states, expired_at_seconds=now_seconds if is_last else None)


async def sweep_message(
    message: str | bytes, plans: Iterable[SourcePlan], sweeper: Sweeper, expirer: Expirer, swept_keys: SweptKeys
) -> None:
    """Do all that a sweep message asks for."""
    named = from_message(message)
    await swept_keys.forget(plans, await sweep_named(named, sweeper, expirer))


async def sweep_named(named: Sequence[Swept], sweeper: Sweeper, expirer: Expirer) -> list[Tombstone | GoneContribution]:
    """Sweep the tombstones and remove the expired entries among them; return what the ledger may forget."""
    swept = await sweeper.sweep([tombstone for tombstone in named if isinstance(tombstone, Tombstone)])
    gone = await sweeper.contributions.sweep([each for each in named if isinstance(each, GoneContribution)])
    await expirer.remove([entry for entry in named if isinstance(entry, Expired)])
    return [*swept, *gone]
