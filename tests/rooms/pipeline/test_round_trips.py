"""Round trips in sequence of one change: what the latency of Azure multiplies."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from shared.pipeline.ledger.rows import ledger_partition
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.world import KeptMessages, World

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from shared.entries.changes.change import Change
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store

T = TypeVar("T")
# Longer than any computation between two calls takes, in turns of the event loop.
TURNS = 50


class RoundTrips:
    """Calls that are out together come back together. `steps` has what went out in each round trip."""

    def __init__(self) -> None:
        self.is_counting = False
        self.steps: list[list[str]] = []
        self._out: list[asyncio.Future[None]] = []
        self._kinds: list[str] = []

    async def carry(self, call: Call[T], store: Store) -> T:
        await self.travel(call.kind)
        return call.perform(store)

    async def travel(self, kind: str) -> None:
        if self.is_counting:
            self._kinds.append(kind)
            self._out.append(asyncio.get_running_loop().create_future())
            await self._out[-1]

    async def count(self, work: Awaitable[None]) -> list[list[str]]:
        """Do the work, round trip by round trip."""
        self.is_counting, self.steps = True, []
        task = asyncio.ensure_future(work)
        while not task.done():
            await self._settle(task)
            out, self._out = self._out, []
            if out:
                self.steps.append(sorted(self._kinds))
                self._kinds = []
            for answer in out:
                answer.set_result(None)
        self.is_counting = False
        await task
        return self.steps

    async def _settle(self, task: asyncio.Future[None]) -> None:
        """Until nothing goes out any more."""
        calm = 0
        while calm < TURNS and not task.done():
            before = len(self._out)
            await asyncio.sleep(0)
            calm = calm + 1 if len(self._out) == before else 0


class DistantQueue(KeptMessages):
    """A queue that is as far away as the tables."""

    def __init__(self, trips: RoundTrips) -> None:
        super().__init__()
        self._trips = trips

    async def send(self, message: str) -> None:
        await self._trips.travel("message")
        await super().send(message)


class Distant:
    """A worker, far away from its tables and its queue."""

    def __init__(self) -> None:
        self.trips = RoundTrips()
        self.world = World(MemoryTables(carrier=self.trips))
        self.world.queue = DistantQueue(self.trips)
        self.world.restart()

    def change(self, **fields: Any) -> Change:
        return self.world.writer.change("f", {"town": "T", "name": "n", "phone": "1", **fields})

    def fact(self, name: str, **fields: Any) -> Change:
        return self.world.writer.change(name, {"town": "T", "name": name, "phone": "1", **fields})

    def facts_of_one_bucket(self, count: int) -> list[str]:
        """Facts whose ledger rows share a partition."""
        by_bucket: dict[str, list[str]] = {}
        for number in range(5_000):
            name = f"f{number}"
            hashed = self.world.writer.change(name, {}, version=0).fact_hash
            found = by_bucket.setdefault(ledger_partition("", hashed, self.world.plan.buckets), [])
            found.append(name)
            if len(found) == count:
                return found
        raise AssertionError("there are fewer buckets than facts")

    async def clear_index(self) -> None:
        """All rows of the index are gone, as before they were written."""
        (generation,) = self.world.plan.generations
        await self.world.tables.delete_table(generation.table)
        await self.world.tables.create_table(generation.table)

    def delete(self) -> Change:
        return self.world.writer.change("f", None)

    async def steps(self, *changes: Change) -> list[list[str]]:
        return await self.trips.count(self.world.apply(*changes))

    def forget(self, *, reads: bool = True) -> None:
        """Another worker goes on; it reads ledger rows first, or assumes that facts are new."""
        self.world.restart()
        if reads:
            self.world.applier._claimer.insert_or_read.observe(existing=10, absent=0)


@pytest.fixture
async def distant() -> Distant:
    """It has applied the first version of a fact."""
    found = Distant()
    await found.world.create_tables()
    await found.world.apply(found.change())
    return found


CLAIM, LIVE, TOMBSTONE, TOGETHER = ["transact"], ["transact"], ["transact"], ["transact"]
READ, LIST = ["get"], ["query"]
MESSAGE = ["message"]


async def test_an_insert() -> None:
    distant = Distant()
    await distant.world.create_tables()
    assert await distant.steps(distant.change()) == [CLAIM, LIVE]


async def test_an_update_of_a_cached_fact(distant: Distant) -> None:
    assert await distant.steps(distant.change(phone="2")) == [CLAIM, LIVE]


async def test_a_move_of_a_cached_fact(distant: Distant) -> None:
    """The sweep message goes out beside the first rows that the claim allows."""
    assert await distant.steps(distant.change(town="U")) == [CLAIM, MESSAGE + LIVE, TOMBSTONE]


async def test_a_move_within_its_partition(distant: Distant) -> None:
    """The new row and the tombstone of the old one are one transaction."""
    assert await distant.steps(distant.change(name="m")) == [CLAIM, MESSAGE + TOGETHER]


async def test_a_delete_of_a_cached_fact(distant: Distant) -> None:
    assert await distant.steps(distant.delete()) == [CLAIM, MESSAGE + TOMBSTONE]


async def test_an_update_that_reads_first(distant: Distant) -> None:
    distant.forget()
    assert await distant.steps(distant.change(phone="2")) == [READ, CLAIM, LIVE]


async def test_a_move_that_reads_first(distant: Distant) -> None:
    distant.forget()
    assert await distant.steps(distant.change(town="U")) == [READ, CLAIM, MESSAGE + LIVE, TOMBSTONE]


async def test_a_delete_that_reads_first(distant: Distant) -> None:
    distant.forget()
    assert await distant.steps(distant.delete()) == [READ, CLAIM, MESSAGE + TOMBSTONE]


async def test_an_update_that_is_taken_for_an_insert(distant: Distant) -> None:
    distant.forget(reads=False)
    assert await distant.steps(distant.change(phone="2")) == [CLAIM, READ, CLAIM, LIVE]


async def test_a_move_that_is_taken_for_an_insert(distant: Distant) -> None:
    distant.forget(reads=False)
    assert await distant.steps(distant.change(town="U")) == [CLAIM, READ, CLAIM, MESSAGE + LIVE, TOMBSTONE]


async def test_a_delete_that_is_taken_for_an_insert(distant: Distant) -> None:
    distant.forget(reads=False)
    assert await distant.steps(distant.delete()) == [CLAIM, READ, CLAIM, MESSAGE + TOMBSTONE]


async def test_an_insert_that_reads_first() -> None:
    distant = Distant()
    await distant.world.create_tables()
    distant.forget()
    assert await distant.steps(distant.change()) == [READ, CLAIM, LIVE]


async def test_rows_of_more_than_one_transaction() -> None:
    """What does not fill a transaction does not wait for those that are full."""
    distant = Distant()
    await distant.world.create_tables()
    facts = distant.facts_of_one_bucket(101)
    assert await distant.steps(*[distant.fact(name) for name in facts]) == [CLAIM * 2, LIVE * 2]
    moved = [distant.fact(name, town="U") for name in facts]
    assert await distant.steps(*moved) == [CLAIM * 2, MESSAGE + LIVE * 2, TOMBSTONE * 3]


async def test_a_redelivery_that_is_taken_for_an_insert(distant: Distant) -> None:
    change = distant.change(phone="2")
    await distant.world.apply(change)
    distant.forget(reads=False)
    assert await distant.steps(change) == [CLAIM, READ, LIST]


async def test_a_redelivery_that_was_finished_here(distant: Distant) -> None:
    change = distant.change(phone="2")
    await distant.world.apply(change)
    assert await distant.steps(change) == []


async def test_a_redelivery_to_another_worker(distant: Distant) -> None:
    change = distant.change(phone="2")
    await distant.world.apply(change)
    distant.forget()
    assert await distant.steps(change) == [READ, LIST]


async def test_a_redelivery_of_a_move_to_another_worker(distant: Distant) -> None:
    """All pairs are listed at once."""
    change = distant.change(town="U")
    await distant.world.apply(change)
    distant.forget()
    assert await distant.steps(change) == [READ, MESSAGE + LIST * 2]


async def test_a_redelivery_of_a_move_whose_rows_are_missing(distant: Distant) -> None:
    change = distant.change(town="U")
    await distant.world.apply(change)
    await distant.clear_index()
    distant.forget()
    assert await distant.steps(change) == [READ, MESSAGE + LIST * 2, LIVE, TOMBSTONE]


async def test_updates_in_a_batch_that_are_taken_for_inserts(distant: Distant) -> None:
    """One conflict is enough to know."""
    facts = distant.facts_of_one_bucket(5)
    await distant.world.apply(*[distant.fact(name) for name in facts])
    distant.forget(reads=False)
    steps = await distant.steps(*[distant.fact(name, phone="2") for name in facts])
    assert steps == [CLAIM, READ * len(facts), CLAIM, LIVE]
