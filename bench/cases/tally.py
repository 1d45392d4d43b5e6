"""Counts what the pipeline asks of the Table service, apart for the ledger and for the index tables."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from shared.pipeline.ledger.rows import LEDGER_TABLE
from shared.tables.port import PARTITION_KEY, ROW_KEY, Delete

if TYPE_CHECKING:
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store
    from shared.tables.port import Entity, EntityValue

T = TypeVar("T")
LEDGER, ENTRY = "ledger", "entry"
TRANSACTIONS, ENTITIES, BYTES = "transactions", "entities", "bytes"
# Azure's own column, which every row has.
_TIMESTAMP_BYTES = 8 + 2 * len("Timestamp") + 8


class Tally:
    """A carrier that performs every call at once, and counts requests, entities and the bytes of rows written."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    async def carry(self, call: Call[T], store: Store) -> T:
        """The answer, once counted: a request that fails is on the bill, too."""
        whose = LEDGER if call.table == LEDGER_TABLE else ENTRY
        operations = getattr(call, "operations", ())
        written = [operation.entity for operation in operations if not isinstance(operation, Delete)]
        self._counts[f"{whose} {TRANSACTIONS}"] += 1
        self._counts[f"{whose} {ENTITIES}"] += len(operations) or 1
        self._counts[f"{whose} {BYTES}"] += sum(map(stored_bytes, written))
        return call.perform(store)

    def take(self) -> dict[str, int]:
        """The counts since the last call."""
        names = [f"{whose} {what}" for whose in (LEDGER, ENTRY) for what in (TRANSACTIONS, ENTITIES, BYTES)]
        counts = {name: self._counts[name] for name in names}
        self._counts.clear()
        return counts


def stored_bytes(entity: Entity) -> int:
    """What the service charges for a row by its published formula: text is UTF-16, and names count, too."""
    keys = 4 + 2 * (len(str(entity[PARTITION_KEY])) + len(str(entity[ROW_KEY])))
    columns = [(name, value) for name, value in entity.items() if name not in {PARTITION_KEY, ROW_KEY}]
    return keys + _TIMESTAMP_BYTES + sum(8 + 2 * len(name) + _value_bytes(value) for name, value in columns)


def _value_bytes(value: EntityValue) -> int:
    if isinstance(value, str):
        return 4 + 2 * len(value)
    if isinstance(value, bytes):
        return 4 + len(value)
    return 1 if isinstance(value, bool) else 8
