"""The sweeper: removes a tombstone and all rows that it hides, long after it was written.

If the tombstone is not there, the sweeper does nothing: another worker has changed the entry key's rows, or the worker
that announced the tombstone ended before it wrote it. All rows up to the tombstone are deleted in one transaction, on
the condition of the ETags that were listed: no row that changed meanwhile is deleted, and no newer row is deleted
before an older one.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from shared.errors import OperationFailedError, TableMissingError
from shared.pipeline.concurrency import all_of
from shared.pipeline.entry_writes.stored_rows import list_rows_of
from shared.pipeline.summaries.sweeping import ContributionSweeper
from shared.tables.limits import OPERATIONS_MAX
from shared.tables.port import Delete

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.entries.projection.generations import Place
    from shared.pipeline.cleanup.messages import Tombstone
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.entry_writes.stored_rows import StoredRow
    from shared.tables.accounts import Accounts
    from shared.tables.port import Tables

_ATTEMPTS: Final = 5

_log = logging.getLogger(__name__)


class Sweeper:
    """Sweeps tombstones that messages name."""

    def __init__(self, accounts: Accounts, run_all: RunAll) -> None:
        self._accounts = accounts
        self._run_all = run_all
        # Those of summaries, which messages name beside tombstones.
        self.contributions = ContributionSweeper(accounts, run_all)

    async def sweep(self, tombstones: Sequence[Tombstone]) -> list[Tombstone]:
        """Sweep all; return those with nothing left to hide. Raises when storage fails, so that the message comes
        back."""
        results = await all_of(self._run_all, [partial(self._sweep, tombstone) for tombstone in tombstones])
        swept = [tombstone for tombstone, is_swept in zip(tombstones, results, strict=True) if is_swept]
        _log.info("Swept", extra={"tombstones": len(tombstones), "swept": len(swept)})
        return swept

    async def _sweep(self, tombstone: Tombstone) -> bool:
        for _ in range(_ATTEMPTS - 1):
            try:
                return await self._try(tombstone)
            except OperationFailedError:
                continue  # another worker changed the rows meanwhile: list them again
            except TableMissingError:
                return True  # the generation is retired, and its table dropped
        return await self._try(tombstone)

    async def _try(self, tombstone: Tombstone) -> bool:
        """Whether no row is left that the tombstone hides, or has yet to hide."""
        place = tombstone.place
        tables = self._accounts.tables(place.account)
        rows = [
            row
            for row in await list_rows_of(tables, place.table, place.partition, tombstone.entry_key)
            if row.version <= tombstone.version
        ]
        if not any(row.is_tombstone and row.version == tombstone.version for row in rows):
            return not rows
        await delete_rows(tables, place, rows)
        return True


async def delete_rows(tables: Tables, place: Place, rows: Sequence[StoredRow]) -> None:
    """Delete listed rows of an entry key, if they have not changed: in one transaction, or in several with the oldest
    rows first."""
    ordered = rows[::-1]
    for start in range(0, len(ordered), OPERATIONS_MAX):
        group = ordered[start : start + OPERATIONS_MAX]
        await tables.transact(place.table, [Delete(place.partition, row.row_key, row.etag) for row in group])
