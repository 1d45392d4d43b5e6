"""Ledger retention: the ledger rows of facts that were deleted long ago are forgotten.

They stay that long because a replay, a lagging hub partition or an old build page would otherwise bring the fact back.
A row is deleted only if it is as it was when it was looked at, says when the fact was deleted or its last entry
expired, and has no live entry in any generation. A fact that is merely filtered out is not deleted.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, cast

from shared.errors import OperationFailedError
from shared.pipeline.ledger_rows import DELETED_AT, EXPIRED_AT, LEDGER_TABLE, bucket_partition, decode
from shared.tables.port import ROW_KEY, Delete, RowRange

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from shared.pipeline.generations import SourcePlan
    from shared.tables.port import Row, Tables

_SECONDS_PER_HOUR: Final = 3600
_HOURS: Final = 24

_log = logging.getLogger(__name__)


class Retention:
    """Cleans the ledger, some buckets every hour, so that a day sees them all and no run takes long."""

    def __init__(self, ledger: Tables, retention_seconds: int, now_seconds: Callable[[], float]) -> None:
        self._ledger = ledger
        self._retention_seconds = retention_seconds
        self._now_seconds = now_seconds

    async def clean(self, plans: Iterable[SourcePlan]) -> int:
        """Clean the buckets whose hour it is; how many rows went."""
        hour = int(self._now_seconds() // _SECONDS_PER_HOUR) % _HOURS
        forgotten = 0
        for plan in plans:
            for bucket in range(hour, plan.buckets, _HOURS):
                forgotten += await self._clean_bucket(bucket_partition(plan.source, bucket), plan.retired)
        _log.info("Ledger cleaned", extra={"hour": hour, "forgotten": forgotten})
        return forgotten

    async def _clean_bucket(self, partition: str, retired: frozenset[str]) -> int:
        limit_seconds = self._now_seconds() - self._retention_seconds
        forgotten = 0
        async for row in self._rows(partition):
            ended_at = row.entity.get(DELETED_AT, row.entity.get(EXPIRED_AT))
            if isinstance(ended_at, int) and ended_at <= limit_seconds:
                forgotten += await self._forget(partition, cast(str, row.entity[ROW_KEY]), limit_seconds, retired)
        return forgotten

    async def _rows(self, partition: str) -> AsyncIterator[Row]:
        """Every row, with nothing but the time of its end. Rows keep their keys, so continuations are safe here."""
        continuation = None
        while True:
            page = await self._ledger.query(
                LEDGER_TABLE, RowRange(partition), select=(DELETED_AT, EXPIRED_AT), continuation=continuation
            )
            for row in page.rows:
                yield row
            continuation = page.continuation
            if continuation is None:
                return

    async def _forget(self, partition: str, fact_key: str, limit_seconds: float, retired: frozenset[str]) -> bool:
        row = await self._ledger.get(LEDGER_TABLE, partition, fact_key)
        if row is None:
            return False
        known = decode(row.entity)
        is_old = known.ended_at_seconds is not None and known.ended_at_seconds <= limit_seconds
        # What a retired generation had is gone with its table.
        if not is_old or any(part.live for identity, part in known.parts.items() if identity not in retired):
            return False
        try:
            await self._ledger.transact(LEDGER_TABLE, [Delete(partition, fact_key, row.etag)])
        except OperationFailedError:
            return False  # somebody wrote it meanwhile, so it is not old any more
        return True
