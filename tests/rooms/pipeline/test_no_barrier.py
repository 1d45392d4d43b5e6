"""Live rows of a small batch do not wait for claims of facts that write elsewhere."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from shared.pipeline.ledger.rows import LEDGER_TABLE, ledger_partition
from shared.tables.memory.calls import Transact
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import key_of
from tests.worlds.world import World

if TYPE_CHECKING:
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

    def start(self, first_town: str, second_town: str) -> asyncio.Task[None]:
        """Apply both facts."""
        towns = {self.first: first_town, self.second: second_town}
        changes = [self.world.writer.change(fact, {"town": town, "name": fact}) for fact, town in towns.items()]
        return asyncio.create_task(self.world.apply(*changes))

    async def end(self, applying: asyncio.Task[None]) -> None:
        """Let the held claim go, and finish."""
        self.wire.released.set()
        await applying


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
