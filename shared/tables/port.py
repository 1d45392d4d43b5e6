"""The port of the Table service: the calls that the product makes, and the values they take and give.

Implemented over HTTP by `client.TableClient` and in memory by `memory_tables.MemoryTables`; one contract suite
holds both to the same behaviour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

PARTITION_KEY: Final = "PartitionKey"
ROW_KEY: Final = "RowKey"
ANY_ETAG: Final = "*"

# int is Edm.Int64, float Edm.Double, bytes Edm.Binary. Binary is here because a compressed ledger row would
# take almost three times the room as text. Edm.DateTime is not: our times are text.
EntityValue: TypeAlias = str | int | float | bool | bytes
Entity: TypeAlias = dict[str, EntityValue]


@dataclass(frozen=True, slots=True)
class Row:
    """An entity as stored, with both keys but without the service's Timestamp, and its last write's ETag."""

    entity: Entity
    etag: str


@dataclass(frozen=True, slots=True)
class Insert:
    """Create the entity; fails with "exists" when its key is taken."""

    entity: Entity


@dataclass(frozen=True, slots=True)
class Upsert:
    """Write the entity as a whole, whatever is there."""

    entity: Entity


@dataclass(frozen=True, slots=True)
class Replace:
    """Write the entity over the one with this ETag; fails with "missing" or "precondition"."""

    entity: Entity
    etag: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove the entity with this key and ETag; fails with "missing" or "precondition"."""

    partition: str
    row: str
    etag: str = ANY_ETAG


Operation: TypeAlias = Insert | Upsert | Replace | Delete


def key_of(operation: Operation) -> tuple[object, object]:
    """The partition and row key of the entity that an operation is about; None for one that it lacks."""
    if isinstance(operation, Delete):
        return operation.partition, operation.row
    entity = operation.entity
    return entity.get(PARTITION_KEY), entity.get(ROW_KEY)


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows of one partition between two row keys, by default from `lower` up to but without `upper`."""

    partition: str
    lower: str | None = None
    upper: str | None = None
    lower_inclusive: bool = True
    upper_inclusive: bool = False


@dataclass(frozen=True, slots=True)
class Continuation:
    """Where the service would go on reading. Opaque: only good for the same query."""

    partition: str
    row: str | None


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of a range in key order. Short and empty pages are legal; only a missing continuation means the end."""

    rows: tuple[Row, ...]
    continuation: Continuation | None


class Tables(Protocol):
    """The tables of one storage account. Every call may raise any `StorageError`."""

    async def get(self, table: str, partition: str, row: str) -> Row | None:
        """The row with this key, or None."""

    async def transact(self, table: str, operations: Sequence[Operation]) -> tuple[str | None, ...]:
        """Apply all operations or none; the new ETag of each, None for a delete.

        They share one partition and name each entity once. `OperationFailedError` names the first one that
        failed. `StorageUnavailableError.outcome_unknown` and `OperationFailedError.resent` say when a request
        that got no answer may have landed all the same, or may land later.
        """

    async def query(
        self,
        table: str,
        rows: RowRange | None,
        *,
        limit: int | None = None,
        select: Sequence[str] = (),
        continuation: Continuation | None = None,
    ) -> Page:
        """One page of at most `limit` rows (1000 without one), with all columns or the keys and these.

        Without a range it is a page of the whole table, partition after partition: for what reads every row once.
        """

    async def create_table(self, table: str) -> bool:
        """Create the table if it is absent; whether this call did it."""

    async def delete_table(self, table: str) -> bool:
        """Delete the table with all its rows; whether it was there."""

    async def list_tables(self, prefix: str) -> tuple[str, ...]:
        """The names of all tables that begin like this, in order, however many pages that takes.

        A prefix is itself a table name: at least three letters and digits.
        """
