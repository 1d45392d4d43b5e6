"""The Table service in memory: the port of `port.Tables` with the real semantics, and nothing left to chance.

Each call goes through a `Carrier`, which decides when it takes effect and what the caller hears of it. With a
carrier of its own a simulator makes every call a scheduling point and injects every fault.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from shared.tables import limits
from shared.tables.counts import Counts
from shared.tables.memory.calls import Call, CreateTable, DeleteTable, Get, ListTables, Query, Transact
from shared.tables.memory.store import Store
from shared.tables.port import PARTITION_KEY, ROW_KEY
from shared.tables.wire import batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.tables.port import Continuation, Operation, Page, Row, RowRange

T = TypeVar("T")


class Carrier(Protocol):
    """Takes a call to the service and the answer back.

    It may wait before and after `call.perform(store)` while others perform theirs; leave the call to be
    performed after its caller is gone; perform it twice; shorten a query's page; or raise what a real client
    would: `ThrottledError`, or `StorageUnavailableError` with `outcome_unknown`.
    """

    async def carry(self, call: Call[T], store: Store) -> T:
        """The answer to the call."""


class DirectCarrier:
    """Performs each call at once."""

    async def carry(self, call: Call[T], store: Store) -> T:
        """The answer of the store as it is now."""
        return call.perform(store)


class MemoryTables:
    """The tables of one storage account, in memory. Several may share a store, as several workers do."""

    def __init__(
        self, store: Store | None = None, carrier: Carrier | None = None, *, counts: Counts | None = None
    ) -> None:
        self.store = store or Store()
        self.counts = counts or Counts()
        self._carrier = carrier or DirectCarrier()

    async def get(self, table: str, partition: str, row: str) -> Row | None:
        """The row with this key, or None."""
        limits.check_key(partition, PARTITION_KEY)
        limits.check_key(row, ROW_KEY)
        return await self._call(Get(table, partition, row))

    async def transact(self, table: str, operations: Sequence[Operation]) -> tuple[str | None, ...]:
        """Apply all operations or none; the new ETag of each, None for a delete."""
        limits.check_request(len(batch.encode(operations, table)))
        return await self._call(Transact(table, tuple(operations)))

    async def query(
        self,
        table: str,
        rows: RowRange | None,
        *,
        limit: int | None = None,
        select: Sequence[str] = (),
        continuation: Continuation | None = None,
    ) -> Page:
        """One page of the range, or of the whole table, in key order."""
        limits.check_query(rows, limit, select)
        return await self._call(Query(table, rows, limit, tuple(select), continuation))

    async def create_table(self, table: str) -> bool:
        """Create the table if it is absent; whether this call did it."""
        return await self._call(CreateTable(table))

    async def delete_table(self, table: str) -> bool:
        """Delete the table with all its rows; whether it was there."""
        return await self._call(DeleteTable(table))

    async def list_tables(self, prefix: str) -> tuple[str, ...]:
        """The names of all tables that begin like this, in order."""
        return await self._call(ListTables(prefix))

    async def _call(self, call: Call[T]) -> T:
        limits.check_table(call.table)
        self.counts.add(call.table, call.kind)
        return await self._carrier.carry(call, self.store)
