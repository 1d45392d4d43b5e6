"""What a verification costs: storage transactions counted exactly, and memory that does not grow with the facts."""

from __future__ import annotations

import math
import tracemalloc
from collections import Counter
from dataclasses import replace

import pytest

from shared.entries.keys.fact_key import encode_fact_key, fact_hash
from shared.pipeline.ledger.rows import LEDGER_TABLE
from shared.tables.memory.memory_tables import MemoryTables
from shared.verification.assembly import RepairOptions, new_confirmer, new_sampling, new_verification
from shared.verification.report import DifferenceReport
from shared.verification.verify import ScanState
from tests.worlds.many_facts import ManyFacts, seed
from tests.worlds.verifying import VerifiedWorld

BUCKETS = 16


async def world_of(count: int) -> VerifiedWorld:
    """So many facts, applied."""
    world = VerifiedWorld(MemoryTables())
    await world.create_tables()
    seed(world, count)
    return world


async def verified(world: VerifiedWorld, count: int) -> DifferenceReport:
    """One verification from its beginning to its end."""
    state = ScanState()
    dependencies = replace(world.dependencies(), facts=ManyFacts(count))
    verification = new_verification(world.subject("by-town"), dependencies, RepairOptions(), state)
    while not verification.is_done:
        await verification.step()
    return state.report


async def transactions(world: VerifiedWorld, count: int) -> int:
    """How many requests a verification sends to the Table service."""
    assert isinstance(world.tables, MemoryTables)
    world.tables.counts.take()
    await verified(world, count)
    return world.tables.counts.take()


async def test_a_right_index_costs_one_transaction_per_thousand_rows() -> None:
    """Of each ledger bucket, and of the table."""
    world = await world_of(5000)
    in_bucket = [0] * BUCKETS
    for number in range(5000):
        in_bucket[fact_hash(encode_fact_key((f"f{number}",), f"f{number}")) % BUCKETS] += 1
    assert await transactions(world, 5000) == sum(math.ceil(size / 1000) for size in in_bucket) + 5


async def test_differences_cost_a_second_reading_and_a_look_at_each() -> None:
    """Two looks at a fact: twice its ledger row and once each entry key; no other fact is examined."""
    world = await world_of(5000)
    right = await transactions(world, 5000)
    for number in (7, 8, 9):
        (entry,) = await world.current(f"f{number}")
        await world.delete_row(entry)
    looks = 3 * 2 * (2 + 1)
    assert await transactions(world, 5000) == 2 * right + looks
    rows = 10_000
    assert 2 * right <= rows / 1000 * 2 + 2 * BUCKETS


async def test_a_sample_reads_so_many_pages_and_the_next_one_goes_on() -> None:
    """Three pages of one bucket, one in each sample: the wrong fact on the last of them is found by the third."""
    world = VerifiedWorld(MemoryTables())
    world.plan = replace(world.plan, buckets=1)
    await world.create_tables()
    seed(world, 2500)
    (entry,) = await world.current("f999")
    await world.delete_row(entry)
    dependencies = replace(world.dependencies(), facts=ManyFacts(2500))
    drawn, found = [], []
    for _ in range(4):
        report = DifferenceReport()
        confirmer = new_confirmer(world.subject("by-town"), dependencies, RepairOptions())
        await new_sampling(world.subject("by-town"), dependencies).run(1000, confirmer, report, pages=1)
        drawn.append(report.counts["ledgerRows"])
        found.append(report.total)
    assert drawn == [1000, 1000, 500, 1000]
    assert found == [0, 0, 1, 0]


async def test_a_sample_reads_no_more_buckets_than_hold_enough() -> None:
    """Each of the 16 has some 30 facts; the next sample draws from others."""
    world = await world_of(500)
    assert isinstance(world.tables, MemoryTables)
    dependencies = replace(world.dependencies(), facts=ManyFacts(500))
    queries = []
    for _ in range(2):
        before = Counter(world.tables.counts.by_table_and_kind())
        confirmer = new_confirmer(world.subject("by-town"), dependencies, RepairOptions())
        await new_sampling(world.subject("by-town"), dependencies).run(10, confirmer, DifferenceReport())
        queries.append((Counter(world.tables.counts.by_table_and_kind()) - before)[LEDGER_TABLE, "query"])
    assert queries == [1, 1]


@pytest.mark.long
async def test_memory_is_flat_between_20_and_80_thousand_facts() -> None:
    """A page and the sketch, whatever the size of the index."""
    peaks = [await peak_bytes(count) for count in (20_000, 80_000)]
    assert peaks[1] < peaks[0] * 1.25
    assert peaks[1] < 40 * 1024 * 1024


async def peak_bytes(count: int) -> int:
    """How much more memory a verification takes at most than there was before."""
    world = await world_of(count)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    report = await verified(world, count)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert report.total == 0
    assert report.counts["ledgerRows"] == count
    return peak - before
