"""Many facts without the time that applying them takes: made from a number, their rows put straight into a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.rows.entry_row import live_row
from shared.pipeline.ledger.rows import LEDGER_TABLE, CurrentEntry, GenerationState, LedgerRow, encode, ledger_partition
from shared.sources.current_facts import FactPage
from shared.tables.memory.memory_tables import MemoryTables

if TYPE_CHECKING:
    from shared.definitions.model import Source
    from shared.entries.keys.fact_key import FactKeyValue
    from tests.worlds.world import World

_PAGE_FACTS = 1000


def document(number: int) -> dict[str, Any]:
    """A fact as the feed shows it."""
    own = {"id": f"f{number}", "town": f"town {number % 500}", "name": f"name {number}", "phone": f"{number:012d}"}
    return {**own, "_ts": 1_700_000_000 + number, "_lsn": number, "_etag": f'"{number}"'}


class ManyFacts:
    """The port `CurrentFacts` over facts that are made when they are asked for."""

    def __init__(self, count: int) -> None:
        self._count = count

    async def read(
        self, source: Source, fact_id: str, partition_key: tuple[FactKeyValue, ...]
    ) -> dict[str, Any] | None:
        """One of them."""
        return {name: value for name, value in document(int(fact_id[1:])).items() if name != "_lsn"}

    async def from_feed(
        self, source: Source, fact_id: str, partition_key: tuple[FactKeyValue, ...], since_seconds: int
    ) -> dict[str, Any] | None:
        """One of them with its `_lsn`."""
        return document(int(fact_id[1:]))

    async def page(self, source: Source, cursor: str | None, until_seconds: float) -> FactPage:
        """A thousand of them."""
        start = int(cursor or 0)
        after = min(start + _PAGE_FACTS, self._count)
        return FactPage(
            [document(number) for number in range(start, after)], str(after) if after < self._count else None
        )


def seed(world: World, count: int) -> None:
    """The ledger rows and entries of so many facts, as if a worker had applied and finished them."""
    assert isinstance(world.tables, MemoryTables)
    store, plan = world.tables.store, world.plan
    reader = CosmosReader(world.definitions.sources[plan.source])
    for number in range(count):
        change = reader.latest(document(number))
        states = {}
        for generation in plan.generations:
            current = []
            for entry in generation.projector.project(change):
                row = live_row(entry.partition_key, entry.entry_key, change.version, entry.columns)
                store.put((generation.table, entry.partition_key, row["RowKey"]), row)
                current.append(CurrentEntry(entry.partition_key, entry.entry_key, change.version, entry.digest))
            states[generation.id] = GenerationState(change.version, tuple(current))
        partition = ledger_partition(plan.source, change.fact_hash, plan.buckets)
        entity = encode(LedgerRow(states, change.source_etag), partition, change.fact_key)
        store.put((LEDGER_TABLE, partition, change.fact_key), entity)
