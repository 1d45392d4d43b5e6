"""The sweeper: removes a tombstone and all that it hides, long after it was written.

If the tombstone is not there any more, somebody else has dealt with the pair, and nothing is done. All rows up to the
tombstone go in one transaction with the ETags that were listed: none that changed meanwhile is deleted, and no
newer row is deleted before an older one.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from shared.errors import OperationFailedError, TableMissingError
from shared.pipeline.pairs import list_pair
from shared.tables.limits import OPERATIONS_MAX
from shared.tables.port import Delete

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.pairs import PairRow
    from shared.pipeline.storage import Accounts
    from shared.pipeline.sweep_messages import Tombstone

_ATTEMPTS: Final = 5

_log = logging.getLogger(__name__)


class Sweeper:
    """Sweeps tombstones that messages name."""

    def __init__(self, accounts: Accounts, run_all: RunAll) -> None:
        self._accounts = accounts
        self._run_all = run_all

    async def sweep(self, tombstones: Sequence[Tombstone]) -> int:
        """Sweep them all; how many were still there. Raises when storage does, so that the message comes back."""
        results = await self._run_all([partial(self._sweep_pair, tombstone) for tombstone in tombstones])
        for result in results:
            if isinstance(result, Exception):
                raise result
        swept = sum(result is True for result in results)
        _log.info("Swept", extra={"tombstones": len(tombstones), "swept": swept})
        return swept

    async def _sweep_pair(self, tombstone: Tombstone) -> bool:
        for _ in range(_ATTEMPTS - 1):
            try:
                return await self._try_pair(tombstone)
            except OperationFailedError:
                continue  # the pair changed under our hands: look again
            except TableMissingError:
                return False  # retired, with all its rows
        return await self._try_pair(tombstone)

    async def _try_pair(self, tombstone: Tombstone) -> bool:
        place = tombstone.place
        tables = self._accounts.tables(place.account)
        rows = [
            row
            for row in await list_pair(tables, place.table, place.partition, tombstone.pair)
            if row.at <= tombstone.version
        ]
        if not any(row.is_tombstone and row.at == tombstone.version for row in rows):
            return False
        for group in _oldest_first(rows):
            await tables.transact(place.table, [Delete(place.partition, row.row_key, row.etag) for row in group])
        return True


def _oldest_first(rows: list[PairRow]) -> list[list[PairRow]]:
    """In one transaction, or should there be too many rows, so that the tombstone goes last."""
    ordered = rows[::-1]
    return [ordered[start : start + OPERATIONS_MAX] for start in range(0, len(ordered), OPERATIONS_MAX)]
