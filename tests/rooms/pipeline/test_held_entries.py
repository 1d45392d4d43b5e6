"""Documents whose entries take far more memory than they do: few of them are projected before they are written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from shared.app.parts import Parts
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.entries.projection.generations import plan_of
from shared.pipeline.apply import held_entries
from shared.tables.accounts import Accounts
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import RowRange
from tests.worlds.world import definitions_of, services_on

if TYPE_CHECKING:
    import pytest

TEXT = """
version: 1
sources: {orders: {cosmos: {database: d, container: orders}, partitionKey: id}}
indexes:
  by-tag: {source: orders, each: {tag: tags}, partition: town, sort: tag, project: [tag, note]}
"""
ENTRIES: Final = 30
FACTS: Final = 5


class Rows:
    """How many entries are in the table at each turn."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._table = plan_of(definitions_of(TEXT), "orders").generations[0].table
        self.seen: list[int] = []

    async def count(self) -> int:
        """How many there are now."""
        return len((await self._tables.query(self._table, RowRange("Kent !"))).rows)

    async def __call__(self) -> None:
        self.seen.append(await self.count())


async def applied(facts: int, note: str) -> list[int]:
    """How many entries there were at every turn of a batch, and at its end."""
    tables = MemoryTables()
    services = services_on(Accounts({DEFAULT_ACCOUNT: tables}), lambda: 1_800_000_000.0)
    parts = await Parts(definitions_of(TEXT), services).ready()
    rows = Rows(tables)
    parts = await Parts(definitions_of(TEXT), replace(services, next_turn=rows)).ready()
    tags = [f"t{number}" for number in range(ENTRIES)]
    documents: list[dict[str, Any]] = [
        {"id": f"o{number}", "town": "Kent", "tags": tags, "note": note, "_ts": 1, "_lsn": number}
        for number in range(facts)
    ]
    await parts.worker.apply_latest("orders", documents)
    return [*rows.seen, await rows.count()]


async def test_what_takes_much_memory_is_written_before_the_next_is_projected(monkeypatch: pytest.MonkeyPatch) -> None:
    """One after another, when the entries of one fact fill it."""
    monkeypatch.setattr(held_entries, "HELD_BYTES_MAX", ENTRIES * 1_000)
    seen = await applied(FACTS, "x" * 1_000)
    assert sorted(set(seen)) == [ENTRIES * number for number in range(FACTS + 1)]


async def test_a_batch_of_usual_facts_is_written_together() -> None:
    """There is a turn after each fact that is read and before each that is projected, and none to wait."""
    assert len(await applied(FACTS, "x" * 1_000)) == 2 * FACTS + 1
