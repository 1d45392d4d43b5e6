"""The catalog: which generations every index has, where they are, in what state, and which one serves.

Every change is conditional on the rows that it was decided from: a process that is overtaken reads again and decides
again. The catalog keeps definitions, so that a worker can update a generation whose definition has left the file.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from shared.catalog.owed_accounts import PREFIX
from shared.catalog.rows import (
    CATALOG_TABLE,
    PARTITION,
    CatalogGeneration,
    CatalogSnapshot,
    ServingRow,
    VerifiedMark,
    read_snapshot,
    write_generation,
    write_serving,
)
from shared.errors import OperationFailedError, StorageUnavailableError
from shared.tables.port import Delete, RowRange, Upsert

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shared.catalog.owed_accounts import OwedAccount
    from shared.tables.port import Insert, Operation, Replace, Row, Tables

_ATTEMPTS: Final = 10


class Catalog:
    """Reads and changes the catalog of one storage account."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def create(self) -> None:
        """Make the table, if it is not there."""
        await self._tables.create_table(CATALOG_TABLE)

    async def read(self) -> CatalogSnapshot:
        """All of it, as a rule in one query."""
        rows: list[Row] = []
        continuation = None
        while True:
            page = await self._tables.query(CATALOG_TABLE, RowRange(PARTITION), continuation=continuation)
            rows += page.rows
            continuation = page.continuation
            if continuation is None:
                return read_snapshot(rows)

    async def write(self, *rows: CatalogGeneration | ServingRow | Insert) -> bool:
        """Write these rows together if each is as it was read, or new; False if a row has changed."""
        try:
            await self._tables.transact(CATALOG_TABLE, [_operation(row) for row in rows])
        except OperationFailedError:
            return False
        return True

    async def change(
        self, generation: str, change: Callable[[CatalogGeneration], CatalogGeneration | None]
    ) -> CatalogGeneration | None:
        """Change a generation's row, deciding again when another process was faster; None when nothing is to change."""
        for _ in range(_ATTEMPTS):
            before = (await self.read()).generation(generation)
            after = None if before is None else change(before)
            if after is None or after == before or await self.write(after):
                return after
        raise StorageUnavailableError(
            f"The catalog row of generation {generation} changes all the time: try again later.", outcome_unknown=False
        )

    async def note_owed(self, owed: Mapping[str, OwedAccount]) -> None:
        """Let the catalog say which accounts are owed something: these, and no others."""
        known = (await self.read()).owed
        operations: list[Operation] = [
            Upsert(account.entity(PARTITION)) for name, account in owed.items() if known.get(name) != account
        ]
        operations += [Delete(PARTITION, PREFIX + name) for name in known if name not in owed]
        if operations:
            try:
                await self._tables.transact(CATALOG_TABLE, operations)
            except OperationFailedError:
                return  # another process has deleted the row: the next run notes what is so then

    async def note_verified(self, generation: str, differences: int, at_seconds: float) -> None:
        """Remember that a generation was verified as a whole, and how many differences there were."""
        verified = VerifiedMark(int(at_seconds), differences)
        await self.change(generation, lambda before: replace(before, verified=verified))


def _operation(row: CatalogGeneration | ServingRow | Insert) -> Insert | Replace:
    if isinstance(row, CatalogGeneration):
        return write_generation(row)
    return write_serving(row) if isinstance(row, ServingRow) else row
