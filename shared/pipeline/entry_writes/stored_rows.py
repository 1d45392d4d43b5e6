"""Lists the stored rows of one entry key: after a crash and in the sweeper, they are not known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

from shared.entries.keys.index_keys import split_row_key
from shared.entries.keys.periods import is_of_period
from shared.entries.rows.columns import EXPIRES
from shared.entries.rows.entry_row import GONE, is_tombstone
from shared.errors import TableMissingError
from shared.tables.port import ROW_KEY, RowRange

if TYPE_CHECKING:
    from shared.entries.projection.generations import Place
    from shared.tables.port import Row, Tables

# Row keys end with inverted versions, which are hex digits: all of them sort before this.
AFTER_VERSIONS: Final = "g"


class StoredRow(NamedTuple):
    """A row of an entry key: its version, whether it is a tombstone, its ETag, and when it expires."""

    row_key: str
    version: str
    is_tombstone: bool
    etag: str
    expires_seconds: int | None = None


async def list_rows_of(tables: Tables, table: str, partition: str, entry_key: str) -> list[StoredRow]:
    """All rows of an entry key, the newest first; none when its period has no table."""
    try:
        return await _list_rows_of(tables, table, partition, entry_key)
    except TableMissingError:
        if is_of_period(table):
            return []
        raise


async def _list_rows_of(tables: Tables, table: str, partition: str, entry_key: str) -> list[StoredRow]:
    found: list[StoredRow] = []
    continuation = None
    while True:
        page = await tables.query(
            table,
            RowRange(partition, entry_key, entry_key + AFTER_VERSIONS),
            select=(GONE, EXPIRES),
            continuation=continuation,
        )
        found += [row for key, row in map(_stored_row, page.rows) if key == entry_key]
        continuation = page.continuation
        if continuation is None:
            return found


async def list_rows_between(
    tables: Tables, place: Place, lower: str, upper: str, limit: int
) -> tuple[list[tuple[str, StoredRow]], str | None]:
    """One page of the rows between two RowKeys, each with its entry key, and the last RowKey if the page was cut."""
    try:
        page = await tables.query(
            place.table, RowRange(place.partition, lower, upper), select=(GONE, EXPIRES), limit=limit
        )
    except TableMissingError:
        if is_of_period(place.table):
            return [], None
        raise
    rows = [_stored_row(row) for row in page.rows]
    # A page may be cut without a row in it: then nothing is known yet.
    return rows, None if page.continuation is None else rows[-1][1].row_key if rows else ""


def _stored_row(row: Row) -> tuple[str, StoredRow]:
    key = cast(str, row.entity[ROW_KEY])
    entry_key, version = split_row_key(key)
    expires = cast("int | None", row.entity.get(EXPIRES))
    return entry_key, StoredRow(key, version, is_tombstone(row.entity), row.etag, expires)
