"""A costly document among others: it is a dead letter, the others are applied, and the event loop goes on between."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shared.app.parts import Parts
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.entries.projection.generations import plan_of
from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE
from shared.tables.accounts import Accounts
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import RowRange
from tests.worlds.world import definitions_of, services_on

TEXT = """
version: 1
sources:
  orders: {cosmos: {database: d, container: orders}, partitionKey: id}
indexes:
  by-total: {source: orders, partition: {path: 'sum(items[].qty)', name: total}, project: keys}
  by-town: {source: orders, partition: town, project: keys}
"""


class Turns:
    """Counts the turns."""

    def __init__(self) -> None:
        self.taken = 0

    async def __call__(self) -> None:
        self.taken += 1


def order(number: int, items: int) -> dict[str, Any]:
    """An order of so many items."""
    return {"id": f"o{number}", "town": "Kent", "items": [{"qty": 1}] * items, "_ts": 1, "_lsn": number}


async def test_a_costly_document_is_a_dead_letter_of_one_index() -> None:
    """Its other index has it, and so have both the other facts."""
    tables, turns = MemoryTables(), Turns()
    services = services_on(Accounts({DEFAULT_ACCOUNT: tables}), lambda: 1_800_000_000.0)
    parts = await Parts(definitions_of(TEXT), replace(services, next_turn=turns)).ready()
    await parts.worker.apply_latest("orders", [order(1, 10), order(2, 200_000), order(3, 10)])

    (letter,) = (await tables.query(DEAD_LETTER_TABLE, RowRange("orders"))).rows
    assert (letter.entity["index"], letter.entity["kind"]) == ("by-total", "notEvaluable")
    assert letter.entity["reason"] == (
        "`sum(items[].qty)` is too costly, over 500000 steps: "
        "simplify it, or split the fact. Correct the fact or the definition, then replay the dead letter."
    )
    generations = plan_of(definitions_of(TEXT), "orders").generations
    entries = {
        generation.index.name: len((await tables.query(generation.table, RowRange(partition))).rows)
        for generation, partition in zip(generations, ["10 !", "Kent !"], strict=True)
    }
    assert entries == {"by-total": 2, "by-town": 3}
    assert turns.taken == 3 + 3 * 2  # after each fact that is read, and before each that is projected into an index
