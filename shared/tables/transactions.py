"""Unconditional writes to one partition, in as few transactions as the service allows.

A delete of a row that is already gone has succeeded and must not fail the operations beside it: the transaction is sent
again without that delete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shared.entries.keys.periods import is_of_period, without_period
from shared.entries.rows.entry_row import GONE
from shared.errors import LimitError, OperationFailedError, TableMissingError
from shared.tables.limits import OPERATIONS_MAX
from shared.tables.port import Delete

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.tables.port import Operation, Tables

# After so many rows that turned out to be gone, the rest is deleted one by one.
_RESENDS_MAX: Final = 3


async def send_creating_period_table(tables: Tables, table: str, operations: Sequence[Operation]) -> None:
    """As `send_unconditional`, but create the table of a period when it is missing. Builds and repairs depend on this.
    Tombstones create it, too: another writer may be about to create it for an entry that the tombstone must hide.

    The table is not created when the generation's own table is gone. That one is deleted first when the generation is
    retired, so a new table of a period would never be deleted.
    """
    try:
        await send_unconditional(tables, table, operations)
    except TableMissingError:
        if not is_of_period(table):
            raise
        await tables.query(without_period(table), None, limit=1, select=(GONE,))
        await tables.create_table(table)
        await send_unconditional(tables, table, operations)


async def send_unconditional(tables: Tables, table: str, operations: Sequence[Operation]) -> None:
    """Send upserts and deletes of one partition in as few transactions as possible, in their order."""
    for start in range(0, len(operations), OPERATIONS_MAX):
        await _send(tables, table, list(operations[start : start + OPERATIONS_MAX]))


async def _send(tables: Tables, table: str, operations: list[Operation]) -> None:
    resends = 0
    while operations:
        try:
            await tables.transact(table, operations)
            return
        except LimitError:
            await _send_halves(tables, table, operations)
            return
        except OperationFailedError as error:
            gone = operations.pop(error.index)
            if not isinstance(gone, Delete):
                raise
            resends += 1
        if resends == _RESENDS_MAX:
            await _delete_one_by_one(tables, table, operations)
            return


async def _send_halves(tables: Tables, table: str, operations: list[Operation]) -> None:
    """Send what is over 4 MiB together in two halves."""
    if len(operations) == 1:
        raise LimitError(f"One row of table {table} is over the limits of the Table service; report this.")
    middle = len(operations) // 2
    await _send(tables, table, operations[:middle])
    await _send(tables, table, operations[middle:])


async def _delete_one_by_one(tables: Tables, table: str, operations: list[Operation]) -> None:
    """Send the upserts together, then each delete on its own: many rows are already gone, as after a crash."""
    await _send(tables, table, [operation for operation in operations if not isinstance(operation, Delete)])
    for operation in operations:
        if isinstance(operation, Delete):
            await _send(tables, table, [operation])
