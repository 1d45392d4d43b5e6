"""Statistics from a sample of the ledger and of the table: real rows, bounded cost, fair estimates."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import uuid4

import pytest

from shared.advice.sampling import Sampler
from shared.advice.statistics import EntryTally
from shared.catalog.period_tables import drop_expired_tables
from shared.tables.memory.calls import Query
from shared.tables.memory.memory_tables import DirectCarrier, MemoryTables
from tests.worlds.world import TOWNS, World

if TYPE_CHECKING:
    from shared.advice.statistics import IndexStatistics
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store
    from shared.tables.port import Tables

T = TypeVar("T")


class ShortPages(DirectCarrier):
    """Gives at most a hundred rows per page."""

    async def carry(self, call: Call[T], store: Store) -> T:
        """The answer to a shorter query."""
        asked: Any = call
        shortened: Any = replace(asked, limit=100) if isinstance(asked, Query) else asked
        return cast(T, await super().carry(shortened, store))


async def filled(tables: Tables, towns: list[str], shards: int = 1) -> World:
    """A world with a person in each of these towns."""
    source = f"p{uuid4().hex[:12]}"
    text = TOWNS.replace("people", source).replace("sort: name", f"sort: name, shards: {shards}")
    world = World(tables, text, source)
    await world.create_tables()
    people = [
        world.writer.change(f"{n:05d}", {"town": town, "name": "n", "phone": "555"}) for n, town in enumerate(towns)
    ]
    for start in range(0, len(people), 1000):
        await world.apply(*people[start : start + 1000])
    return world


async def statistics_of(world: World, pages_max: int = 50) -> IndexStatistics:
    """Of its only generation."""
    (found,) = (await Sampler(world.accounts, lambda: world.now_seconds, pages_max).statistics(world.plan)).values()
    return found


@pytest.mark.parametrize("shards", [1, 4])
async def test_a_small_index_is_counted_whole(service: Tables, shards: int) -> None:
    """Partitions are counted without their shards, with their values as the rows have them."""
    world = await filled(service, ["Redmond/WA"] * 90 + [f"town {n}" for n in range(10)], shards)
    found = await statistics_of(world)
    assert (found.facts, found.entries, found.share, found.partitions) == (100, 100, 1.0, 11)
    assert found.top[0].values == {"town": "Redmond/WA"}
    assert (found.largest_share, found.top[0].shards) == (0.9, shards)
    assert found.entry_bytes is not None
    assert 200 < found.entry_bytes < 600


async def test_entries_in_tables_per_period_are_counted_until_their_period_is_over(service: Tables) -> None:
    """Partitions without their periods, with the values and sizes of their rows."""
    source = f"p{uuid4().hex[:12]}"
    expire = "expire: {path: until, after: 1w, tables: week}"
    world = World(service, TOWNS.replace("people", source).replace("sort: name", f"sort: name, {expire}"), source)
    await world.create_tables()
    times = ["2027-01-15", "2027-01-20", "2027-02-20"]
    people = [{"town": "Redmond", "name": "n", "phone": "555", "until": until} for until in times]
    await world.apply(*[world.writer.change(f"{n}", person) for n, person in enumerate(people)])
    found = await statistics_of(world)
    assert (found.entries, found.partitions, found.top[0].values) == (3, 1, {"town": "Redmond"})
    assert found.tables == 4
    assert found.entry_bytes is not None
    world.now_seconds += 20 * 86_400
    await drop_expired_tables(world.accounts, [world.plan], world.now_seconds)
    found = await statistics_of(world)
    assert (found.facts, found.entries, found.top[0].entries) == (3, 1, 1)


async def test_a_large_source_is_sampled_by_whole_buckets() -> None:
    """Two buckets of sixteen cost two transactions, and what they say is about right."""
    random = Random(7)
    towns = ["Redmond" if random.random() < 0.5 else f"town {random.randrange(200)}" for _ in range(8000)]
    tables = MemoryTables()
    world = await filled(tables, towns)
    before = tables.counts.total()
    found = await statistics_of(world, pages_max=2)
    assert tables.counts.total() - before <= 2 + 5 + 1
    assert found.share == 2 / 16
    assert found.entries_estimated == found.entries * 8
    assert 900 < found.facts < 1100
    assert 7000 < found.entries_estimated < 9000
    assert 0.45 < found.largest_share < 0.55
    assert 180 < found.partitions_estimated < 240


async def test_a_sample_that_ends_inside_a_bucket_says_what_it_knows() -> None:
    """Of the second bucket a part, by comparison with the first; of the first alone nothing but a lower bound."""
    tables = MemoryTables(carrier=ShortPages())
    world = await filled(tables, [f"town {n % 40}" for n in range(8000)])
    found = await statistics_of(world, pages_max=8)
    assert found.share is not None
    assert 1 / 16 < found.share < 2 / 16
    assert 6500 < found.entries_estimated < 9500
    some = await statistics_of(world, pages_max=2)
    assert (some.share, some.entries_estimated) == (None, 200)


async def test_an_index_without_facts_has_empty_statistics(service: Tables) -> None:
    """Nothing is sampled, and nothing fails."""
    world = await filled(service, [])
    found = await statistics_of(world)
    assert (found.entries, found.top, found.entry_bytes, found.entries_estimated) == (0, (), None, 0)


def test_partitions_that_grow_with_time_are_told_from_those_that_do_not() -> None:
    """Also when most entries share one partition."""
    random = Random(3)
    growing, mixed, hot = EntryTally(), EntryTally(), EntryTally()
    for number in range(1000):
        at = f"{number:05d}"
        growing.add([(f"2024-{number // 20:03d}", at)])
        mixed.add([(f"{random.randrange(100)}", at)])
        hot.add([("b" if random.random() < 0.9 else random.choice("acd"), at)])
    assert growing.growing_share() == 1.0
    assert 0.4 < mixed.growing_share() < 0.6
    assert 0.3 < hot.growing_share() < 0.7
