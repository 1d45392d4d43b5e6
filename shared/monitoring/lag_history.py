"""Lag over time: a bounded number of points per source, in one row of table `Status`.

Points of the last hours are kept as measured, older ones as the worst of their quarter of an hour, for three days.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from shared.errors import OperationFailedError, TableMissingError
from shared.monitoring.counter_rows import STATUS_TABLE
from shared.pipeline.packing import compress, decompress, put_bytes, take_bytes
from shared.tables.port import PARTITION_KEY, ROW_KEY, Insert, Replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shared.tables.port import Entity, Row, Tables

Point = tuple[int, float | None]
History = dict[str, list[Point]]

EXACT_SECONDS: Final = 3 * 3600
BUCKET_SECONDS: Final = 900
KEPT_SECONDS: Final = 3 * 86_400
_PARTITION: Final = "history"
_ROW: Final = "lag"
_POINTS: Final = "points"


def thinned(points: Sequence[Point], now_seconds: int) -> list[Point]:
    """The points to keep, oldest first. Points in the future, from a clock that jumped, are dropped."""
    exact = sorted(point for point in points if now_seconds - EXACT_SECONDS < point[0] <= now_seconds)
    buckets: dict[int, Point] = {}
    for point in points:
        if now_seconds - KEPT_SECONDS < point[0] <= now_seconds - EXACT_SECONDS:
            bucket = point[0] // BUCKET_SECONDS
            buckets[bucket] = max(buckets.get(bucket, point), point, key=_badness)
    return [*sorted(buckets.values()), *exact]


def _badness(point: Point) -> float:
    """An unknown lag is worse than any lag."""
    return float("inf") if point[1] is None else point[1]


class LagHistory:
    """The history of all sources of an app."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def read(self) -> History:
        """The points of each source, oldest first."""
        return _read(await self._row())

    async def add(self, now_seconds: int, lags: Mapping[str, float | None]) -> None:
        """Add one point for each source; drop the points of sources that are gone."""
        row = await self._row()
        known = _read(row)
        history = {
            source: thinned([*known.get(source, ()), (now_seconds, lag)], now_seconds) for source, lag in lags.items()
        }
        entity: Entity = {PARTITION_KEY: _PARTITION, ROW_KEY: _ROW}
        put_bytes(entity, _POINTS, compress(orjson.dumps(history)))
        operation = Insert(entity) if row is None else Replace(entity, row.etag)
        try:
            await self._tables.transact(STATUS_TABLE, [operation])
        except OperationFailedError:
            return  # another instance added this minute's points
        except TableMissingError:
            await self._tables.create_table(STATUS_TABLE)
            await self._tables.transact(STATUS_TABLE, [Insert(entity)])

    async def _row(self) -> Row | None:
        try:
            return await self._tables.get(STATUS_TABLE, _PARTITION, _ROW)
        except TableMissingError:
            return None


def _read(row: Row | None) -> History:
    if row is None:
        return {}
    plain: dict[str, list[list[Any]]] = orjson.loads(decompress(take_bytes(row.entity, _POINTS)))
    return {source: [(at, lag) for at, lag in points] for source, points in plain.items()}
