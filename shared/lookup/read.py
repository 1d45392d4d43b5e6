"""Reads one page of a plan: one request per shard and period, all at once, merged in key order.

The rows of an entry key come newest first: the first counts, the others are masked, and a tombstone hides its entry
key. The filter is on keys only, because one that leaves tombstones out would unmask older rows. A page with rows is
continued by a new range query after the last entry key read, never by the service's token: a row updated in place gets
a smaller RowKey and would be skipped.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from shared.definitions.utf16 import utf16_order
from shared.entries.keys.limits import VERSION_UNITS
from shared.entries.keys.periods import table_of
from shared.entries.keys.strings import CEILING
from shared.entries.rows.entry_row import is_expired, is_tombstone
from shared.errors import StorageUnavailableError, TableMissingError
from shared.tables.port import ROW_KEY, Page, RowRange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shared.lookup.plan import Plan
    from shared.lookup.replicas import Replicas
    from shared.tables.port import Continuation, Entity, Row

# One is the rule. Azure may answer with an empty page and a continuation; so many of them mean trouble.
_REQUESTS_MAX: Final = 30


class NewestRow(NamedTuple):
    """The newest row of an entry key: an entry, or the tombstone of one."""

    entry_key: str
    entity: Entity


@dataclass(frozen=True, slots=True)
class Stretch:
    """What one shard gave: the newest row of each entry key, in order, and whether there is more behind them."""

    newest: Sequence[NewestRow]
    has_more: bool
    is_secondary: bool = False
    rows_read: int = 0


class HiddenRow(NamedTuple):
    """A tombstone in a table of a period: what it hides may be in another period now."""

    entry_key: str
    table: str
    version: str


@dataclass(frozen=True, slots=True)
class RowPage:
    """The current rows of a page in key order. The next page begins after `last_entry_key`, None on the last one.

    `hidden` are the tombstones that the page passes, of an index with tables per period.
    """

    current: list[NewestRow]
    last_entry_key: str | None
    is_secondary: bool
    rows_read: int = 0
    hidden: tuple[HiddenRow, ...] = ()

    def before(self, hidden: Iterable[HiddenRow]) -> RowPage | None:
        """The page as if it ended before the first of these; None when nothing is left of it."""
        end = min(utf16_order(row.entry_key) for row in hidden)
        current = [row for row in self.current if _entry_key_order(row) < end]
        entry_keys = [*(row.entry_key for row in self.current), *(row.entry_key for row in self.hidden)]
        passed = [entry_key for entry_key in entry_keys if utf16_order(entry_key) < end]
        return replace(self, current=current, last_entry_key=max(passed, key=utf16_order)) if passed else None


async def read_page(
    replicas_of: Callable[[str], Replicas],
    table: str,
    plan: Plan,
    after_entry_key: str | None,
    limit: int,
    now_seconds: float | None = None,
) -> RowPage:
    """The page of at most `limit` entries after an entry key (or from the beginning).

    `now_seconds` is the time to measure expiry by; None for an index whose entries do not expire.
    """
    if plan.is_empty:
        return RowPage([], None, is_secondary=False)
    tables = [table_of(table, start) for start in plan.starts] or [table] * len(plan.accounts)
    places = zip(plan.accounts, tables, strict=True)
    readers = [StretchReader(replicas_of(account), name, limit) for account, name in places]
    ranges = [_range(plan, partition_key, after_entry_key) for partition_key in plan.partition_keys]
    if len(ranges) == 1:
        stretches = [await readers[0].read(ranges[0])]
    else:
        reads = [reader.read(rows) for reader, rows in zip(readers, ranges, strict=True)]
        stretches = list(await asyncio.gather(*reads))
    current, last_entry_key = merged(stretches, limit, now_seconds)
    rows_read = sum(stretch.rows_read for stretch in stretches)
    is_secondary = any(stretch.is_secondary for stretch in stretches)
    hidden = _hidden(tables, stretches, last_entry_key) if plan.starts else ()
    return RowPage(current, last_entry_key, is_secondary, rows_read, hidden)


def _hidden(tables: Sequence[str], stretches: Sequence[Stretch], last_entry_key: str | None) -> tuple[HiddenRow, ...]:
    """The tombstones up to the end of the page."""
    end = None if last_entry_key is None else utf16_order(last_entry_key)
    return tuple(
        HiddenRow(row.entry_key, table, cast(str, row.entity[ROW_KEY])[-VERSION_UNITS:])
        for table, stretch in zip(tables, stretches, strict=True)
        for row in stretch.newest
        if is_tombstone(row.entity) and (end is None or _entry_key_order(row) <= end)
    )


def _range(plan: Plan, partition_key: str, after_entry_key: str | None) -> RowRange:
    lower = plan.bounds.lower
    if after_entry_key is not None:
        # Above every row of that entry key, which no other one begins with. Never below what the query itself asks for.
        lower = max(lower, after_entry_key + CEILING, key=utf16_order)
    # Every RowKey lies above nothing and below the ceiling: an end that says no more need not be compared.
    upper = plan.bounds.upper
    return RowRange(partition_key, lower or None, None if upper == CEILING else upper)


class StretchReader:
    """Reads the first rows of ranges of one table, with a bounded number of requests."""

    def __init__(self, replicas: Replicas, table: str, limit: int) -> None:
        self._replicas = replicas
        self._table = table
        self._limit = limit
        self._requests_left = _REQUESTS_MAX

    async def read(self, rows: RowRange) -> Stretch:
        """One request, unless the service answers with an empty page and a continuation.

        Then the steps are: follow the continuation to the first rows; look again at what it passed over, because a
        row that was updated in place in the meantime is there now; take what that look finds, else the rows.
        """
        page, is_secondary = await self._query(rows, None)
        if page.rows or page.continuation is None:
            return _stretch(page, is_secondary=is_secondary)
        later = await self._follow(rows, page.continuation)
        passed_over = await self.read(replace(rows, upper=later.newest[0].entry_key) if later.newest else rows)
        if not passed_over.newest:
            return later
        has_more = passed_over.has_more or bool(later.newest)
        return replace(passed_over, has_more=has_more, rows_read=passed_over.rows_read + later.rows_read)

    async def _follow(self, rows: RowRange, continuation: Continuation | None) -> Stretch:
        while True:
            page, is_secondary = await self._query(rows, continuation)
            if page.rows or page.continuation is None:
                return _stretch(page, is_secondary=is_secondary)
            continuation = page.continuation

    async def _query(self, rows: RowRange, continuation: Continuation | None) -> tuple[Page, bool]:
        if not self._requests_left:
            raise StorageUnavailableError(
                f"Table {self._table} gives too many empty pages: try again later.", outcome_unknown=False
            )
        self._requests_left -= 1
        try:
            return await self._replicas.query(self._table, rows, self._limit, continuation)
        except TableMissingError:
            # The first fact of this index, or of this period, has not arrived yet; or the period is over.
            return Page((), None), False


def _stretch(page: Page, *, is_secondary: bool) -> Stretch:
    return Stretch(newest_of_each_entry(page.rows), page.continuation is not None, is_secondary, len(page.rows))


def newest_of_each_entry(rows: Sequence[Row]) -> list[NewestRow]:
    """The first row of each run of rows that share an entry key."""
    newest = []
    last = None
    for row in rows:
        entity = row.entity
        entry_key = cast(str, entity[ROW_KEY])[:-VERSION_UNITS]
        if entry_key != last:
            newest.append(NewestRow(entry_key, entity))
            last = entry_key
    return newest


def merged(
    stretches: Sequence[Stretch], limit: int, now_seconds: float | None = None
) -> tuple[list[NewestRow], str | None]:
    """At most `limit` current rows of all shards in order, and the last entry key passed, None when nothing is left.

    A row whose time is over hides its entry key as a tombstone does.

    Behind the last row of a shard that has more, only that shard's next request knows what comes: the page ends there.
    """
    if len(stretches) == 1:
        rows: Sequence[NewestRow] = stretches[0].newest
        horizon = None
    else:
        rows = sorted((row for stretch in stretches for row in stretch.newest), key=_entry_key_order)
        ends = [stretch.newest[-1] for stretch in stretches if stretch.has_more]
        horizon = min(map(_entry_key_order, ends)) if ends else None
    current: list[NewestRow] = []
    last_entry_key = None
    for row in rows:
        if len(current) == limit or (horizon is not None and _entry_key_order(row) > horizon):
            return current, last_entry_key
        last_entry_key = row.entry_key
        if not is_tombstone(row.entity) and (now_seconds is None or not is_expired(row.entity, now_seconds)):
            current.append(row)
    return current, last_entry_key if any(stretch.has_more for stretch in stretches) else None


def _entry_key_order(row: NewestRow) -> bytes:
    return utf16_order(row.entry_key)
