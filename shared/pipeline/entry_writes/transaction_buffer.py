"""Entry writes: blind, idempotent, grouped by partition into as few transactions as the service allows.

A delete of a row that is gone has succeeded and must not fail its neighbours: the transaction is sent again
without it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from shared.entries.keys.periods import is_of_period, without_period
from shared.entries.rows.entry_row import GONE
from shared.errors import LimitError, OperationFailedError, TableMissingError
from shared.tables.limits import OPERATIONS_MAX
from shared.tables.port import Delete

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shared.pipeline.concurrency import RunAll
    from shared.tables.accounts import Accounts, Place
    from shared.tables.port import Operation, Tables

# After so many rows that turned out to be gone, the rest is deleted one by one.
_RESENDS_MAX: Final = 3


class EntryWrite(NamedTuple):
    """What is done to the rows of one pair of a fact, together."""

    fact: str
    place: Place
    operations: tuple[Operation, ...]


class _Group:
    """Writes to one partition, for one transaction."""

    __slots__ = ("size", "writes")

    def __init__(self) -> None:
        self.writes: list[EntryWrite] = []
        self.size = 0


class TransactionBuffer:
    """Writes that are sent when they fill a transaction, or at the end. `failures` are the facts whose writes were not
    all acknowledged, each with a reason."""

    def __init__(self, accounts: Accounts, run_all: RunAll) -> None:
        self._accounts = accounts
        self._run_all = run_all
        self._open: dict[Place, _Group] = {}
        self.failures: dict[str, Exception] = {}

    async def add(self, writes: Iterable[EntryWrite]) -> None:
        """Keep these, and send the transactions that are full."""
        await self._send(list(self._filled(writes)))

    async def finish(self) -> None:
        """Send the rest."""
        rest, self._open = self._open, {}
        await self._send(list(rest.values()))

    def _filled(self, writes: Iterable[EntryWrite]) -> Iterator[_Group]:
        """Groups that hold as many writes to one partition as a transaction takes."""
        for write in writes:
            size = len(write.operations)
            group = self._open.get(write.place)
            if group is not None and group.size + size > OPERATIONS_MAX:
                yield group
                group = None
            if group is None:
                group = self._open[write.place] = _Group()
            group.writes.append(write)
            group.size += size

    async def _send(self, groups: Sequence[_Group]) -> None:
        if not groups:
            return
        results = await self._run_all([partial(self._send_group, group.writes) for group in groups])
        for group, result in zip(groups, results, strict=True):
            if isinstance(result, Exception):
                self.failures |= {write.fact: result for write in group.writes}

    async def _send_group(self, writes: Sequence[EntryWrite]) -> None:
        place = writes[0].place
        operations = [operation for write in writes for operation in write.operations]
        await _send_or_make(self._accounts.tables(place.account), place.table, operations)


async def _send_or_make(tables: Tables, table: str, operations: Sequence[Operation]) -> None:
    """The table of a period is made when it is missed, also by builds and repairs, which nobody mends tables for. Also
    for tombstones: whoever else writes there may be about to make it.

    Not without the generation's own, which goes first when it is retired: nobody would drop it any more.
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
            await _delete_one_by_one(tables, table, operations)
            return


async def _send_halves(tables: Tables, table: str, operations: list[Operation]) -> None:
    """Over 4 MiB together: the first half, then the second."""
    if len(operations) == 1:
        raise LimitError(f"One row of table {table} is over the limits of the Table service; report this.")
    middle = len(operations) // 2
    await _send(tables, table, operations[:middle])
    await _send(tables, table, operations[middle:])


async def _delete_one_by_one(tables: Tables, table: str, operations: list[Operation]) -> None:
    """Upserts together, then each delete by itself: many rows are gone, as after a crash."""
    await _send(tables, table, [operation for operation in operations if not isinstance(operation, Delete)])
    for operation in operations:
        if isinstance(operation, Delete):
            await _send(tables, table, [operation])
