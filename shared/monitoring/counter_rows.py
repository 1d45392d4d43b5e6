"""The counters in storage: one row per instance in table `Status`, and one with the sum of those that are gone.

An instance replaces its row with all its counts, so a repeated write changes nothing. Rows of instances that wrote
nothing for a day are added to the sum and deleted in one entity group transaction. An instance that writes after that
finds its row gone and starts a new one with the counts since then.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, cast

import orjson

from shared.errors import OperationFailedError, TableMissingError
from shared.monitoring.counters import Measure, Totals
from shared.pipeline.packing import compress, decompress, put_bytes, take_bytes
from shared.tables.port import PARTITION_KEY, ROW_KEY, Delete, Insert, Replace, RowRange

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shared.tables.port import Entity, Operation, Row, Tables

STATUS_TABLE: Final = "Status"
COUNTERS: Final = "counters"
# Sorts before every instance.
SUM_ROW: Final = "!sum"
IDLE_SECONDS: Final = 86_400
# An entity group transaction takes 100 operations; one is the sum's.
_FOLDED_AT_ONCE: Final = 90
_COUNTS: Final = "counts"


class InstanceRow:
    """The row of this instance."""

    def __init__(self, tables: Tables, instance: str, now_seconds: Callable[[], float]) -> None:
        self._tables = tables
        self.instance = instance
        self._now_seconds = now_seconds
        self._since = int(now_seconds())
        self._etag: str | None = None
        self._written: Counter[Measure] = Counter()
        self._elsewhere: Counter[Measure] = Counter()

    async def write(self, counted: Counter[Measure]) -> None:
        """Write what this instance has counted so far; one transaction."""
        try:
            await self._put(counted)
        except TableMissingError:
            await self._tables.create_table(STATUS_TABLE)
            await self._put(counted)
        except OperationFailedError:
            # Either an earlier attempt succeeded and its answer was lost, or the row was added to the sum.
            row = await self._tables.get(STATUS_TABLE, COUNTERS, self.instance)
            self._etag = None if row is None else row.etag
            if row is None:
                self._elsewhere = Counter(self._written)
            await self._put(counted)
        self._written = Counter(counted)

    async def _put(self, counted: Counter[Measure]) -> None:
        own = counted - self._elsewhere
        entity = _entity(self.instance, own, self._since, int(self._now_seconds()))
        operation = Insert(entity) if self._etag is None else Replace(entity, self._etag)
        (self._etag,) = await self._tables.transact(STATUS_TABLE, [operation])

    def unwritten(self, counted: Counter[Measure]) -> Counter[Measure]:
        """What this instance has counted and not yet written."""
        return counted - self._written


async def read_totals(tables: Tables) -> Totals:
    """The counts of all instances, as far as they are written."""
    rows = await _rows(tables)
    total: Counter[Measure] = Counter()
    for row in rows:
        total.update(_counts(row))
    since = [float(cast(int, row.entity["since"])) for row in rows]
    instances = sum(row.entity[ROW_KEY] != SUM_ROW for row in rows)
    return Totals(total, min(since, default=None), instances)


async def fold_idle(tables: Tables, now_seconds: float) -> int:
    """Add the rows of instances that ended long ago to the sum; the number of such rows."""
    rows = {str(row.entity[ROW_KEY]): row for row in await _rows(tables)}
    before = rows.pop(SUM_ROW, None)
    idle = [row for row in rows.values() if cast(int, row.entity["writtenAt"]) < now_seconds - IDLE_SECONDS]
    idle = idle[:_FOLDED_AT_ONCE]
    if not idle:
        return 0
    total: Counter[Measure] = Counter()
    since = []
    for row in [*idle, *([before] if before else [])]:
        total.update(_counts(row))
        since.append(cast(int, row.entity["since"]))
    entity = _entity(SUM_ROW, total, min(since), int(now_seconds))
    first: Operation = Replace(entity, before.etag) if before else Insert(entity)
    try:
        deletes = [Delete(COUNTERS, str(row.entity[ROW_KEY]), row.etag) for row in idle]
        await tables.transact(STATUS_TABLE, [first, *deletes])
    except OperationFailedError:
        return 0  # an instance wrote again, or another instance does the same: the next call tries again
    return len(idle)


async def _rows(tables: Tables) -> list[Row]:
    rows: list[Row] = []
    continuation = None
    while True:
        try:
            page = await tables.query(STATUS_TABLE, RowRange(COUNTERS), continuation=continuation)
        except TableMissingError:
            return rows
        rows += page.rows
        continuation = page.continuation
        if continuation is None:
            return rows


def _entity(row: str, counts: Mapping[Measure, int], since: int, written_at: int) -> Entity:
    entity: Entity = {PARTITION_KEY: COUNTERS, ROW_KEY: row, "since": since, "writtenAt": written_at}
    plain = [[*measure, count] for measure, count in sorted(counts.items()) if count]
    put_bytes(entity, _COUNTS, compress(orjson.dumps(plain)))
    return entity


def _counts(row: Row) -> dict[Measure, int]:
    plain = orjson.loads(decompress(take_bytes(row.entity, _COUNTS)))
    return {Measure(kind, name, what): count for kind, name, what, count in plain}
