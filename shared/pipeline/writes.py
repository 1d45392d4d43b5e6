"""Entry writes: blind, idempotent, grouped by partition into as few transactions as the service allows.

A delete of a row that is gone has succeeded and must not fail its neighbours: the transaction is sent again
without it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from shared.errors import LimitError, OperationFailedError
from shared.tables.limits import OPERATIONS_MAX
from shared.tables.port import Delete

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.storage import Accounts, Place
    from shared.tables.port import Operation, Tables

# After so many rows that turned out to be gone, the rest is deleted one by one.
_RESENDS_MAX: Final = 3


class PairWrite(NamedTuple):
    """What is done to the rows of one pair of a fact, together."""

    fact: str
    place: Place
    operations: tuple[Operation, ...]


async def write_all(accounts: Accounts, writes: Sequence[PairWrite], run_all: RunAll) -> dict[str, Exception]:
    """Send all writes; the facts whose writes were not all acknowledged, each with a reason."""
    groups = list(_groups(writes))
    work = [partial(_send_group, accounts.tables(group[0].place.account), group) for group in groups]
    failures: dict[str, Exception] = {}
    for group, result in zip(groups, await run_all(work), strict=True):
        if isinstance(result, Exception):
            failures |= {write.fact: result for write in group}
    return failures


def _groups(writes: Sequence[PairWrite]) -> Iterator[list[PairWrite]]:
    """Writes to one partition together, as many as a transaction takes."""
    by_place: dict[Place, list[PairWrite]] = {}
    for write in writes:
        by_place.setdefault(write.place, []).append(write)
    for together in by_place.values():
        group: list[PairWrite] = []
        size = 0
        for write in together:
            if size + len(write.operations) > OPERATIONS_MAX and group:
                yield group
                group, size = [], 0
            group.append(write)
            size += len(write.operations)
        yield group


async def _send_group(tables: Tables, group: Sequence[PairWrite]) -> None:
    operations = [operation for write in group for operation in write.operations]
    await send_blind(tables, group[0].place.table, operations)


async def send_blind(tables: Tables, table: str, operations: Sequence[Operation]) -> None:
    """Upserts and deletes of one partition, in as few transactions as it takes. Deletes follow their upserts."""
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
            await _send_apart(tables, table, operations)
            return


async def _send_halves(tables: Tables, table: str, operations: list[Operation]) -> None:
    """Over 4 MiB together: the first half, then the second."""
    if len(operations) == 1:
        raise LimitError(f"One row of table {table} is over the limits of the Table service; report this.")
    middle = len(operations) // 2
    await _send(tables, table, operations[:middle])
    await _send(tables, table, operations[middle:])


async def _send_apart(tables: Tables, table: str, operations: list[Operation]) -> None:
    """Upserts together, then each delete by itself: many rows are gone, as after a crash."""
    await _send(tables, table, [operation for operation in operations if not isinstance(operation, Delete)])
    for operation in operations:
        if isinstance(operation, Delete):
            await _send(tables, table, [operation])
