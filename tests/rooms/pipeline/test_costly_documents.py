"""A costly document among others: it is a dead letter, the others are applied, and the event loop goes on between."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from shared.app.parts import Parts
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.entries.projection.generations import plan_of
from shared.pipeline.apply import claim_batch
from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE
from shared.pipeline.ledger import rows
from shared.pipeline.ledger.rows import STATES_BYTES_MAX, states_bytes
from shared.tables.accounts import Accounts
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import RowRange
from tests.worlds.world import KeptBlobs, definitions_of, services_on

if TYPE_CHECKING:
    import pytest

TEXT = """
version: 1
sources:
  orders: {cosmos: {database: d, container: orders}, partitionKey: id}
indexes:
  by-total: {source: orders, partition: {path: 'sum(items[].qty)', name: total}, project: keys}
  by-town: {source: orders, partition: town, project: keys}
"""


MANY = 100
KEYS = """
version: 1
sources: {orders: {cosmos: {database: d, container: orders}, partitionKey: id}}
indexes:
""" + "".join(
    f"  by-{number}: {{source: orders, each: {{tag: t{number}}}, partition: tag, sort: {{path: tag, name: again}}}}\n"
    for number in range(MANY)
)
POISON = KEYS.replace("partition: tag", "partition: {path: abs(tag), name: size}")


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
        '"sum(items[].qty)" is too costly, over 500000 steps: '
        "simplify it, or split the fact. Correct the fact or the definition, then replay the dead letter."
    )
    generations = plan_of(definitions_of(TEXT), "orders").generations
    entries = {
        generation.index.name: len((await tables.query(generation.table, RowRange(partition))).rows)
        for generation, partition in zip(generations, ["10 !", "Kent !"], strict=True)
    }
    assert entries == {"by-total": 2, "by-town": 3}
    assert turns.taken == 3 + 3 * 2  # after each fact that is read, and before each that is projected into an index


async def test_the_indexes_that_make_a_ledger_row_too_large_are_found_in_few_tries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As few fail as must. A row of 3 MB takes a tenth of a second to write out: not once for each index."""
    random, encoded = Random(1), []

    def encode(*args: Any) -> Any:
        encoded.append(rows.encode(*args))
        return encoded[-1]

    monkeypatch.setattr(claim_batch, "encode", encode)
    tags = {
        f"t{number}": ["".join(map(chr, random.choices(range(0x4E00, 0xA000), k=600))) for _ in range(10)]
        for number in range(MANY)
    }
    tables = MemoryTables()
    parts = await Parts(definitions_of(KEYS), services_on(Accounts({DEFAULT_ACCOUNT: tables}), lambda: 1.8e9)).ready()
    await parts.worker.apply_latest("orders", [{"id": "o", **tags, "_ts": 1, "_lsn": 1}])
    failed = len((await tables.query(DEAD_LETTER_TABLE, RowRange("orders"))).rows)
    assert 0 < failed < MANY
    states = states_bytes(encoded[-1])
    assert states <= STATES_BYTES_MAX < states * (MANY - failed + 1) / (MANY - failed)
    assert len(encoded) <= 9


async def test_the_document_of_many_dead_letters_is_packed_once() -> None:
    """A fact of 2 MB that fails in a hundred indexes held up everything for 5 s."""
    tables, blobs = MemoryTables(), KeptBlobs()
    services = services_on(Accounts({DEFAULT_ACCOUNT: tables}), lambda: 1.8e9, blobs=blobs)
    parts = await Parts(definitions_of(POISON), services).ready()
    tags = {f"t{number}": ["no number"] for number in range(MANY)}
    noise = Random(1).randbytes(900_000).hex()
    document = {"id": "o", **tags, "noise": noise, "_ts": 1, "_lsn": 1}
    await parts.worker.apply_latest("orders", [document])
    assert len(blobs.contents) == MANY
    assert len(set(map(id, blobs.contents.values()))) == 1
