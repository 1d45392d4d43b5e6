"""What had been counted by when: the work of the whole app over time, in one row of table `Status`.

Counts only grow, so two points tell how much was done between them. Points are kept as those of the lag are: a point a
minute for some hours, then one for each quarter of an hour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import orjson

from shared.errors import OperationFailedError, TableMissingError
from shared.monitoring.counter_rows import STATUS_TABLE
from shared.monitoring.lag_history import BUCKET_SECONDS, EXACT_SECONDS, KEPT_SECONDS
from shared.pipeline.packing import compress, decompress, put_bytes, take_bytes
from shared.tables.port import PARTITION_KEY, ROW_KEY, Insert, Replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.monitoring.counters import Totals
    from shared.tables.port import Entity, Row, Tables

_PARTITION: Final = "history"
_ROW: Final = "counts"
_POINTS: Final = "points"


class CountPoint(NamedTuple):
    """What had been counted at a moment, in seconds since 1970."""

    at: int
    changes: int
    entries: int
    lookups: int
    transactions: int


def count_point(at: int, totals: Totals) -> CountPoint:
    """The sums over all sources, indexes and accounts."""
    indexes = [totals.of("index", name) for name in totals.names("index")]
    accounts = [totals.of("account", name) for name in totals.names("account")]
    return CountPoint(
        at,
        changes=sum(totals.of("source", name)["applied"] for name in totals.names("source")),
        entries=sum(index["entries_written"] + index["entries_removed"] for index in indexes),
        lookups=sum(index["lookups"] for index in indexes),
        transactions=sum(account["changes"] + account["lookups"] for account in accounts),
    )


def thinned(points: Sequence[CountPoint], now_seconds: int) -> list[CountPoint]:
    """The points to keep, oldest first: of an older quarter of an hour the last one. None from the future."""
    kept = sorted(point for point in points if now_seconds - KEPT_SECONDS < point.at <= now_seconds)
    exact = [point for point in kept if point.at > now_seconds - EXACT_SECONDS]
    last = {point.at // BUCKET_SECONDS: point for point in kept if point.at <= now_seconds - EXACT_SECONDS}
    return [*last.values(), *exact]


class CountHistory:
    """The history of an app."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def read(self) -> list[CountPoint]:
        """The points, oldest first."""
        return _read(await self._row())

    async def add(self, point: CountPoint) -> None:
        """Add a point."""
        row = await self._row()
        points = thinned([*_read(row), point], point.at)
        entity: Entity = {PARTITION_KEY: _PARTITION, ROW_KEY: _ROW}
        put_bytes(entity, _POINTS, compress(orjson.dumps([list(point) for point in points])))
        operation = Insert(entity) if row is None else Replace(entity, row.etag)
        try:
            await self._tables.transact(STATUS_TABLE, [operation])
        except OperationFailedError:
            return  # another instance added this minute's point
        except TableMissingError:
            await self._tables.create_table(STATUS_TABLE)
            await self._tables.transact(STATUS_TABLE, [Insert(entity)])

    async def _row(self) -> Row | None:
        try:
            return await self._tables.get(STATUS_TABLE, _PARTITION, _ROW)
        except TableMissingError:
            return None


def _read(row: Row | None) -> list[CountPoint]:
    if row is None:
        return []
    return [CountPoint(*point) for point in orjson.loads(decompress(take_bytes(row.entity, _POINTS)))]
