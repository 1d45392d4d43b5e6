"""Reads the first rows of a stretch: a range of one partition of one table.

The rows of an entry key come newest first: the first counts, the others are masked, and a tombstone hides its entry
key. The query is on keys only, because one that leaves tombstones out would unmask older rows. Reading goes on with a
new range after the last entry key read, never with the service's token: a row updated in place gets a smaller RowKey
and would be skipped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, cast

from shared.entries.keys.limits import VERSION_UNITS
from shared.errors import StorageUnavailableError, TableMissingError
from shared.tables.port import ROW_KEY, Page

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shared.lookup.reading.replicas import Replicas
    from shared.tables.port import Continuation, Entity, Row, RowRange

    EntriesOf: TypeAlias = Callable[[Sequence[Row]], list["NewestRow"]]

# One is the rule. Azure may answer with an empty page and a continuation; so many of them mean trouble.
_REQUESTS_MAX: Final = 30


class NewestRow(NamedTuple):
    """The newest row of an entry key: an entry, or the tombstone of one."""

    entry_key: str
    entity: Entity


@dataclass(frozen=True, slots=True)
class Stretch:
    """What a read gave: the newest row of each entry key, in order, and whether there is more behind them."""

    newest: Sequence[NewestRow]
    has_more: bool
    is_secondary: bool = False
    rows_read: int = 0


@dataclass(slots=True)
class StretchReader:
    """Reads the first rows of ranges of one table, with a bounded number of requests; all columns, or the keys and
    these."""

    replicas: Replicas
    table: str
    limit: int
    select: Sequence[str] = ()
    # Which rows count, with their entry keys; by default the newest of each.
    entries_of: EntriesOf | None = None
    _requests_left: int = _REQUESTS_MAX

    async def read(self, rows: RowRange) -> Stretch:
        """One request, unless the service answers with an empty page and a continuation.

        Then the steps are: follow the continuation to the first rows; look again at what it passed over, because a
        row that was updated in place in the meantime is there now; take what that look finds, else the rows.
        """
        page, is_secondary = await self._query(rows, None)
        if page.rows or page.continuation is None:
            return self._stretch(page, is_secondary=is_secondary)
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
                return self._stretch(page, is_secondary=is_secondary)
            continuation = page.continuation

    def _stretch(self, page: Page, *, is_secondary: bool) -> Stretch:
        newest = (self.entries_of or newest_of_each_entry)(page.rows)
        return Stretch(newest, page.continuation is not None, is_secondary, len(page.rows))

    async def _query(self, rows: RowRange, continuation: Continuation | None) -> tuple[Page, bool]:
        if not self._requests_left:
            raise StorageUnavailableError(
                f"Table {self.table} gives too many empty pages: try again later.", outcome_unknown=False
            )
        self._requests_left -= 1
        try:
            return await self.replicas.query(self.table, rows, self.limit, continuation, self.select)
        except TableMissingError:
            # The first fact of this index, or of this period, has not arrived yet; or the period is over.
            return Page((), None), False


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
