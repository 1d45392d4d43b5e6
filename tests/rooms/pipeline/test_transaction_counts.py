"""What a change costs in storage transactions, counted on memory and on Azurite; docs/performance.md shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from shared.pipeline.ledger.rows import ledger_partition
from shared.tables.port import Delete
from tests.worlds.world import TOWNS, World

if TYPE_CHECKING:
    from shared.entries.changes.change import Change
    from shared.tables.client import TableClient
    from shared.tables.memory.memory_tables import MemoryTables


class Counted(World):
    """A world that tells how many transactions a batch took. Its source is new to the ledger."""

    def __init__(self, service: MemoryTables | TableClient) -> None:
        source = f"p{uuid4().hex[:12]}"
        super().__init__(service, TOWNS.replace("people", source), source)
        self._counts = service.counts

    async def cost(self, *changes: Change) -> int:
        """The transactions of one batch."""
        before = self._counts.total()
        await self.apply(*changes)
        return self._counts.total() - before

    def forget(self, *, reads_first: bool) -> None:
        """A new worker with an empty cache, which has seen mostly known or mostly new facts."""
        self.restart()
        if reads_first:
            self.applier._claimer.insert_or_read.observe(existing=10, absent=0)

    def facts_of_one_bucket(self, count: int) -> list[str]:
        """Facts whose ledger rows share a partition."""
        found: list[str] = []
        number = 0
        while len(found) < count:
            change = self.writer.change(f"f{number}", {}, version=0)
            if ledger_partition("", change.fact_hash, self.plan.buckets).endswith("-003"):
                found.append(f"f{number}")
            number += 1
        return found


@pytest.fixture
async def world(service: MemoryTables | TableClient) -> Counted:
    """One index with one entry per fact."""
    world = Counted(service)
    await world.create_tables()
    return world


async def test_an_insert_takes_two_transactions_or_three_after_a_read(world: Counted) -> None:
    """The claim and the entry."""
    assert await world.cost(world.writer.change("a", {"town": "X", "name": "n"})) == 2
    world.forget(reads_first=True)
    assert await world.cost(world.writer.change("b", {"town": "X", "name": "n"})) == 3


async def test_an_update_of_an_uncached_fact_takes_three(world: Counted) -> None:
    """Read, claim, and the new row with the delete of the old one."""
    await world.apply(world.writer.change("a", {"town": "X", "name": "n", "phone": "1"}))
    world.forget(reads_first=True)
    assert await world.cost(world.writer.change("a", {"town": "X", "name": "n", "phone": "2"})) == 3


async def test_an_update_of_a_cached_fact_takes_two(world: Counted) -> None:
    """The cached row saves the read."""
    await world.apply(world.writer.change("a", {"town": "X", "name": "n", "phone": "1"}))
    assert await world.cost(world.writer.change("a", {"town": "X", "name": "n", "phone": "2"})) == 2


async def test_an_update_that_changes_no_entry_is_only_claimed(world: Counted) -> None:
    """The version must rise all the same; the rows are known to be there."""
    await world.apply(world.writer.change("a", {"town": "X", "name": "n", "age": 1}))
    assert await world.cost(world.writer.change("a", {"town": "X", "name": "n", "age": 2})) == 1


async def test_a_key_change_takes_four(world: Counted) -> None:
    """Read, claim, the new entry, the tombstone with the delete of the old entry."""
    await world.apply(world.writer.change("a", {"town": "X", "name": "n"}))
    world.forget(reads_first=True)
    assert await world.cost(world.writer.change("a", {"town": "Y", "name": "n"})) == 4


async def test_a_delete_takes_three(world: Counted) -> None:
    """Read, claim, tombstone."""
    await world.apply(world.writer.change("a", {"town": "X", "name": "n"}))
    world.forget(reads_first=True)
    assert await world.cost(world.writer.change("a", None)) == 3


async def test_a_non_empty_left_costs_one_more_per_partition(world: Counted) -> None:
    """Its tombstones are written again before the claim lets go of them."""
    await world.apply(world.writer.change("a", {"town": "X", "name": "n"}))
    await world.apply(world.writer.change("a", {"town": "Y", "name": "n"}))
    world.forget(reads_first=True)
    assert await world.cost(world.writer.change("a", {"town": "Y", "name": "n", "phone": "1"})) == 4
    await world.apply(world.writer.change("a", {"town": "Z", "name": "n"}))
    world.forget(reads_first=True)
    assert await world.cost(world.writer.change("a", {"town": "W", "name": "n"})) == 5
    await world.apply(world.writer.change("a", {"town": "V", "name": "n"}))
    world.forget(reads_first=True)
    assert await world.cost(world.writer.change("a", None)) == 4


async def test_a_redelivery_takes_at_most_two(world: Counted) -> None:
    """None when this worker finished it, else the ledger row and a look at the pair."""
    change = world.writer.change("a", {"town": "X", "name": "n"})
    await world.apply(change)
    assert await world.cost(change) == 0
    world.forget(reads_first=True)
    assert await world.cost(change) == 2


async def test_an_outdated_change_takes_one_read(world: Counted) -> None:
    """And none when the newer one is cached."""
    old = world.writer.change("a", {"town": "X", "name": "n"})
    await world.apply(world.writer.change("a", {"town": "Y", "name": "n"}))
    assert await world.cost(old) == 0
    world.forget(reads_first=True)
    assert await world.cost(old) == 1


async def test_a_batch_of_a_hundred_shares_its_transactions(world: Counted) -> None:
    """One bucket, one index partition: inserts 2; updates 103 uncached and 3 cached; key changes one more."""
    facts = world.facts_of_one_bucket(100)

    def batch(town: str, phone: str) -> list[Change]:
        return [world.writer.change(fact, {"town": town, "name": "n", "phone": phone}) for fact in facts]

    assert await world.cost(*batch("X", "1")) == 2
    assert await world.cost(*batch("X", "2")) == 3
    world.forget(reads_first=True)
    assert await world.cost(*batch("X", "3")) == 103
    assert await world.cost(*batch("Y", "3")) == 4
    assert await world.cost(*[world.writer.change(fact, None) for fact in facts]) == 3


async def test_changes_of_one_fact_in_a_batch_cost_as_one(world: Counted) -> None:
    """Only the newest is applied."""
    changes = [world.writer.change("a", {"town": town, "name": "n"}) for town in ("X", "Y", "Z")]
    assert await world.cost(*changes) == 2
    assert world.outcome.coalesced == 2


async def test_a_batch_of_known_facts_finds_out_after_one_conflict(world: Counted) -> None:
    """Inserting first was wrong: the rest of the transaction is read instead of tried one by one."""
    facts = world.facts_of_one_bucket(50)
    await world.apply(*[world.writer.change(fact, {"town": "X", "name": "n"}) for fact in facts])
    world.restart()
    updates = [world.writer.change(fact, {"town": "X", "name": "n", "phone": "1"}) for fact in facts]
    assert await world.cost(*updates) == 1 + 50 + 1 + 1


@pytest.mark.parametrize("place", [0, 25, 99])
async def test_one_known_fact_among_new_ones_does_not_make_the_next_batch_read(world: Counted, place: int) -> None:
    """Facts of its transaction that were written by nobody, tried or not, are no known facts."""
    known, *new = world.facts_of_one_bucket(200)
    first, second = [*new[:place], known, *new[place:99]], new[99:]
    await world.apply(world.writer.change(known, {"town": "X", "name": "n"}))
    world.restart()
    await world.apply(*[world.writer.change(fact, {"town": "X", "name": "n", "phone": "1"}) for fact in first])
    assert await world.cost(*[world.writer.change(fact, {"town": "X", "name": "n"}) for fact in second]) == 2


async def test_a_redelivered_batch_lists_the_rows_of_a_partition_together(world: Counted) -> None:
    """One read for each fact, and one page for all of their entries."""
    facts = world.facts_of_one_bucket(50)
    changes = [world.writer.change(fact, {"town": "X", "name": fact}) for fact in facts]
    await world.apply(*changes)
    world.forget(reads_first=True)
    assert await world.cost(*changes) == 50 + 1


async def test_what_a_redelivered_batch_lacks_is_written_in_full_transactions(world: Counted) -> None:
    """And nothing that is there already."""
    facts = world.facts_of_one_bucket(50)
    changes = [world.writer.change(fact, {"town": "X", "name": fact}) for fact in facts]
    await world.apply(*changes)
    (generation,) = world.plan.generations
    lost = [row["RowKey"] for row in await world.rows("by-town", "X !")][:20]
    await world.tables.transact(generation.table, [Delete("X !", key) for key in lost])
    world.forget(reads_first=True)
    assert await world.cost(*changes) == 50 + 1 + 1
    assert len(await world.rows("by-town", "X !")) == 50
