"""The calls of the port as values that take effect on a `Store` when they are performed.

A call that is a value can be held back, lost, performed late or twice: what the simulator does to requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar, cast

from shared.definitions.utf16 import utf16_order
from shared.errors import OperationFailedError
from shared.tables.limits import PAGE_ROWS_MAX
from shared.tables.memory.store import as_row
from shared.tables.port import (
    ANY_ETAG,
    PARTITION_KEY,
    ROW_KEY,
    Continuation,
    Delete,
    Insert,
    Page,
    Replace,
    Row,
    key_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shared.errors import FailureReason
    from shared.tables.counts import CallKind
    from shared.tables.memory.store import Store
    from shared.tables.port import Operation, RowRange

T_co = TypeVar("T_co", covariant=True)


class Call(Protocol[T_co]):
    """A request, and what it does when it reaches the service."""

    kind: ClassVar[CallKind]

    @property
    def table(self) -> str:
        """The table it is about."""

    def perform(self, store: Store) -> T_co:
        """Take effect now; the answer, or the service's error."""


@dataclass(frozen=True, slots=True)
class Get:
    """A point read."""

    kind: ClassVar[CallKind] = "get"
    table: str
    partition: str
    row: str

    def perform(self, store: Store) -> Row | None:
        """The row, or None."""
        return store.get(self.table, self.partition, self.row)


@dataclass(frozen=True, slots=True)
class Transact:
    """An entity group transaction; its operations have been checked."""

    kind: ClassVar[CallKind] = "transact"
    table: str
    operations: tuple[Operation, ...]

    def perform(self, store: Store) -> tuple[str | None, ...]:
        """All operations or, when one fails, none. Each has an entity of its own, so none can change
        another's condition and all conditions can be looked at first."""
        keys = [cast(tuple[str, str], key_of(operation)) for operation in self.operations]
        for index, (operation, key) in enumerate(zip(self.operations, keys, strict=True)):
            reason = _failure(operation, store.etag(self.table, *key))
            if reason is not None:
                raise OperationFailedError(self.table, index, reason)
        return tuple(
            _write(store, (self.table, *key), operation) for operation, key in zip(self.operations, keys, strict=True)
        )


def _failure(operation: Operation, etag: str | None) -> FailureReason | None:
    """Why the operation fails on the row with this ETag (None: there is no such row)."""
    if isinstance(operation, Insert):
        return None if etag is None else "exists"
    if isinstance(operation, (Replace, Delete)):
        if etag is None:
            return "missing"
        return None if operation.etag in {ANY_ETAG, etag} else "precondition"
    return None


def _write(store: Store, key: tuple[str, str, str], operation: Operation) -> str | None:
    if isinstance(operation, Delete):
        store.put(key, None)
        return None
    return store.put(key, operation.entity)


@dataclass(frozen=True, slots=True)
class Query:
    """One page of a range query. A smaller `limit` than was asked for, even 0, is a short page: legal."""

    kind: ClassVar[CallKind] = "query"
    table: str
    rows: RowRange | None
    limit: int | None = None
    select: tuple[str, ...] = ()
    continuation: Continuation | None = None

    def perform(self, store: Store) -> Page:
        """The rows of the range in key order, from the continuation on."""
        limit = PAGE_ROWS_MAX if self.limit is None else self.limit
        # One more than asked for: it says where the next page begins.
        found = list(islice(self._rows(store), limit + 1))
        more = None
        if len(found) > limit:
            more = Continuation(cast(str, found[limit].entity[PARTITION_KEY]), cast(str, found[limit].entity[ROW_KEY]))
        return Page(tuple(self._selected(row) for row in found[:limit]), more)

    def _partitions(self, store: Store) -> Iterable[str]:
        """The partitions to read, in key order."""
        if self.rows is not None:
            return (self.rows.partition,)
        start = b"" if self.continuation is None else utf16_order(self.continuation.partition)
        return sorted([key for key in store.partition_keys(self.table) if utf16_order(key) >= start], key=utf16_order)

    def _rows(self, store: Store) -> Iterator[Row]:
        for partition in self._partitions(store):
            rows = store.partition(self.table, partition)
            keys = [key for key in rows if self._contains(partition, key)]
            for key in sorted(keys, key=utf16_order):
                row = as_row((self.table, partition, key), rows[key])
                if row is not None:
                    yield row

    def _contains(self, partition: str, key: str) -> bool:
        sort_key, rows, continuation = utf16_order(key), self.rows, self.continuation
        if (
            continuation is not None
            and partition == continuation.partition
            and sort_key < utf16_order(continuation.row or "")
        ):
            return False
        if rows is None:
            return True
        if rows.lower is not None and not _after(sort_key, utf16_order(rows.lower), or_at=rows.lower_inclusive):
            return False
        return rows.upper is None or _after(utf16_order(rows.upper), sort_key, or_at=rows.upper_inclusive)

    def _selected(self, row: Row) -> Row:
        if not self.select:
            return row
        names = {PARTITION_KEY, ROW_KEY, *self.select}
        return Row({name: value for name, value in row.entity.items() if name in names}, row.etag)


def _after(sort_key: bytes, bound: bytes, *, or_at: bool) -> bool:
    return sort_key > bound or (or_at and sort_key == bound)


@dataclass(frozen=True, slots=True)
class CreateTable:
    """Create a table if it is absent."""

    kind: ClassVar[CallKind] = "create"
    table: str

    def perform(self, store: Store) -> bool:
        """Whether this call did it."""
        return store.create(self.table)


@dataclass(frozen=True, slots=True)
class DeleteTable:
    """Delete a table."""

    kind: ClassVar[CallKind] = "delete"
    table: str

    def perform(self, store: Store) -> bool:
        """Whether it was there."""
        return store.drop(self.table)


@dataclass(frozen=True, slots=True)
class ListTables:
    """The tables whose names begin like `table`."""

    kind: ClassVar[CallKind] = "list"
    table: str

    def perform(self, store: Store) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(sorted(name for name in store.tables() if name.startswith(self.table)))
