"""Live rows of a small batch do not wait for claims of facts that write elsewhere."""

from __future__ import annotations

import asyncio
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from shared.pipeline.ledger.rows import LEDGER_TABLE, ledger_partition
from shared.tables.memory.calls import Transact
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import key_of
from tests.worlds.world import World, visible

if TYPE_CHECKING:
    from shared.entries.changes.change import Change
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store

T = TypeVar("T")


class HeldClaims:
    """Performs every call, but for claims in some buckets, which wait to be let go."""

    def __init__(self) -> None:
        self.held: set[str] = set()
        self.released = asyncio.Event()
        self.entry_transactions = 0

    async def carry(self, call: Call[T], store: Store) -> T:
        asked: Any = call
        if isinstance(asked, Transact) and asked.table != LEDGER_TABLE:
            self.entry_transactions += 1
        elif isinstance(asked, Transact) and key_of(asked.operations[0])[0] in self.held:
            await self.released.wait()
        # As on a real wire, no call is answered before all buckets are on their way.
        for _ in range(100):
            await asyncio.sleep(0)
        return call.perform(store)


class Batch:
    """Facts of two buckets; the claim of the second one is held."""

    def __init__(self) -> None:
        self.wire = HeldClaims()
        self.world = World(MemoryTables(carrier=self.wire))
        self.first, self.second = self._facts_of_two_buckets()

    def _facts_of_two_buckets(self) -> tuple[str, str]:
        buckets: dict[str, str] = {}
        for number in range(100):
            hashed = self.world.writer.change(f"f{number}", {}, version=0).fact_hash
            buckets.setdefault(ledger_partition("people", hashed, self.world.plan.buckets), f"f{number}")
        (_, first), (held, second) = list(buckets.items())[:2]
        self.wire.held.add(held)
        return first, second

    def start(self, first_town: str, second_town: str | None) -> asyncio.Task[None]:
        """Apply both facts; one without a town is deleted."""
        towns = {self.first: first_town, self.second: second_town}
        return asyncio.create_task(self.world.apply(*[self.change(fact, town) for fact, town in towns.items()]))

    def change(self, fact: str, town: str | None) -> Change:
        """The next version of a fact."""
        return self.world.writer.change(fact, None if town is None else {"town": town, "name": fact})

    async def end(self, applying: asyncio.Task[None]) -> None:
        """Let the held claim go, and finish."""
        self.wire.released.set()
        await applying

    async def apply_before(self, fact: str, town: str) -> None:
        """Before the batch; later batches are held again."""
        self.wire.released.set()
        await self.world.apply(self.change(fact, town))
        self.wire.released.clear()
        self.wire.entry_transactions = 0


@pytest.fixture
async def batch() -> Batch:
    """With its tables."""
    made = Batch()
    await made.world.create_tables()
    return made


async def test_a_row_is_written_while_claims_of_other_partitions_are_out(batch: Batch) -> None:
    """Nothing that the other fact may write goes into its transaction."""
    applying = batch.start("A", "B")
    for _ in range(1_000):
        await asyncio.sleep(0)
    assert batch.wire.entry_transactions == 1
    assert len(await batch.world.rows("by-town", "A !")) == 1
    assert await batch.world.rows("by-town", "B !") == []
    await batch.end(applying)
    assert len(await batch.world.rows("by-town", "B !")) == 1


async def test_a_row_waits_for_the_facts_that_write_beside_it(batch: Batch) -> None:
    """Together they are one transaction."""
    applying = batch.start("A", "A")
    for _ in range(1_000):
        await asyncio.sleep(0)
    assert batch.wire.entry_transactions == 0
    await batch.end(applying)
    assert batch.wire.entry_transactions == 1
    assert len(await batch.world.rows("by-town", "A !")) == 2


@pytest.mark.parametrize("is_cached", [True, False])
async def test_a_row_waits_for_a_deleted_fact_that_has_an_entry_beside_it(batch: Batch, is_cached: bool) -> None:
    """Its tombstone goes along. Without its ledger row nobody knows where it belongs."""
    await batch.apply_before(batch.second, "A")
    if not is_cached:
        batch.world.restart()
    applying = batch.start("A", None)
    for _ in range(1_000):
        await asyncio.sleep(0)
    assert batch.wire.entry_transactions == 0
    await batch.end(applying)
    assert batch.wire.entry_transactions == 1
    assert len(visible(await batch.world.rows("by-town", "A !"))) == 1


async def test_a_row_does_not_wait_for_a_deleted_fact_whose_entry_is_elsewhere(batch: Batch) -> None:
    """The cached ledger row says so."""
    await batch.apply_before(batch.second, "B")
    applying = batch.start("A", None)
    for _ in range(1_000):
        await asyncio.sleep(0)
    assert batch.wire.entry_transactions == 1
    await batch.end(applying)
    assert batch.wire.entry_transactions == 2


class ShuffledAnswers:
    """Answers come in any order."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.entry_transactions = 0

    async def carry(self, call: Call[T], store: Store) -> T:
        asked: Any = call
        self.entry_transactions += isinstance(asked, Transact) and asked.table != LEDGER_TABLE
        for _ in range(self._random.randrange(200)):
            await asyncio.sleep(0)
        return call.perform(store)


@pytest.mark.parametrize("is_cached", [True, False])
async def test_the_order_of_answers_changes_nothing_in_what_a_batch_costs(is_cached: bool) -> None:
    """As many entry transactions each time; how many ledger rows are read first is learned from the answers."""
    assert len({await _cost_of_mixed_changes(seed, is_cached=is_cached) for seed in range(12)}) == 1


async def _cost_of_mixed_changes(seed: int, *, is_cached: bool) -> int:
    """Updates, moves, deletes and new facts, in a few partitions."""
    wire = ShuffledAnswers(seed)
    world = World(MemoryTables(carrier=wire))
    await world.create_tables()
    await world.apply(*[world.writer.change(f"f{n}", {"town": f"T{n % 4}", "name": "n"}) for n in range(30)])
    if not is_cached:
        world.restart()
    changed = [
        world.writer.change(f"f{n}", None if n % 5 == 0 else {"town": f"T{n % 4 + n % 2}", "name": "m"})
        for n in range(5, 40)
    ]
    wire.entry_transactions = 0
    await world.apply(*changed)
    return wire.entry_transactions
