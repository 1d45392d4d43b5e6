"""The rows of an in-memory Table service: a plain state that can be copied, compared and put back.

Rows are kept as the JSON that the wire would carry, so what is read has passed the real codec. There is no
clock and no chance: an ETag counts the writes that its key has seen, so equal histories give equal states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from zlib import crc32

import orjson

from shared.errors import TableMissingError
from shared.tables.port import Row
from shared.tables.wire.entity import decode, encode

if TYPE_CHECKING:
    from shared.tables.port import Entity


class Stored(NamedTuple):
    """What a key holds. A deleted one (body None) keeps its count: a new row never repeats an old ETag."""

    writes: int
    body: bytes | None


Partition: TypeAlias = dict[str, Stored]
StoreState: TypeAlias = frozenset[tuple[str, frozenset[tuple[str, str, Stored]]]]

_NOTHING = Stored(0, None)


class Store:
    """Tables of partitions of rows."""

    def __init__(self, state: StoreState = frozenset()) -> None:
        self._tables: dict[str, dict[str, Partition]] = {}
        self.restore(state)

    def state(self) -> StoreState:
        """Everything that a future call can depend on, as one hashable value."""
        return frozenset(
            (
                table,
                frozenset((key, row, stored) for key, rows in partitions.items() for row, stored in rows.items()),
            )
            for table, partitions in self._tables.items()
        )

    def restore(self, state: StoreState) -> None:
        """Become the store that gave `state`."""
        self._tables = {}
        for table, rows in state:
            partitions = self._tables.setdefault(table, {})
            for partition, row, stored in rows:
                partitions.setdefault(partition, {})[row] = stored

    def create(self, table: str) -> bool:
        """Add an empty table; whether it was absent."""
        absent = table not in self._tables
        if absent:
            self._tables[table] = {}
        return absent

    def drop(self, table: str) -> bool:
        """Remove a table with its rows; whether it was there."""
        return self._tables.pop(table, None) is not None

    def tables(self) -> tuple[str, ...]:
        """The names of all tables."""
        return tuple(self._tables)

    def partition_keys(self, table: str) -> tuple[str, ...]:
        """The partitions that a table has, or had once."""
        return tuple(self._partitions(table))

    def partition(self, table: str, partition: str) -> Partition:
        """The rows of a partition by row key, deleted ones included. Write through `put`, not here."""
        return self._partitions(table).get(partition, {})

    def get(self, table: str, partition: str, row: str) -> Row | None:
        """The row with this key, or None."""
        stored = self.partition(table, partition).get(row, _NOTHING)
        return as_row((table, partition, row), stored)

    def etag(self, table: str, partition: str, row: str) -> str | None:
        """The ETag of the row with this key, or None."""
        stored = self.partition(table, partition).get(row, _NOTHING)
        return None if stored.body is None else _etag((table, partition, row), stored)

    def put(self, key: tuple[str, str, str], entity: Entity | None) -> str:
        """Write an entity, or with None remove it; the new ETag."""
        table, partition, row = key
        rows = self._partitions(table).setdefault(partition, {})
        # Sorted, so that the order of a dictionary makes no two states out of one.
        body = None if entity is None else encode(dict(sorted(entity.items())))
        rows[row] = Stored(rows.get(row, _NOTHING).writes + 1, body)
        return _etag(key, rows[row])

    def _partitions(self, table: str) -> dict[str, Partition]:
        try:
            return self._tables[table]
        except KeyError:
            raise TableMissingError(f"Table {table} is not there: create it first.") from None


def as_row(key: tuple[str, str, str], stored: Stored) -> Row | None:
    """What a reader sees of a key: the entity and its ETag, or None."""
    return None if stored.body is None else Row(decode(orjson.loads(stored.body)), _etag(key, stored))


def _etag(key: tuple[str, str, str], stored: Stored) -> str:
    """Differs by key as well, so that an ETag used for the wrong row is found out."""
    return f'W/"{crc32(repr(key).encode()):08x}.{stored.writes}"'
