"""Ledger rows of deleted facts are forgotten after their time, and no others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from shared.pipeline.cleanup.expiry import ExpiryWalk
from shared.pipeline.ledger.retention import REST_SECONDS, Retention
from shared.pipeline.ledger.rows import LEDGER_TABLE
from shared.tables.client import TableClient
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.world import TOWNS, World, nothing_listed

if TYPE_CHECKING:
    from shared.tables.port import Tables

DAY_SECONDS = 86_400
RETENTION_SECONDS = 30 * DAY_SECONDS
EXPIRING = """
version: 1
sources: {SOURCE: {cosmos: {database: d, container: people}, partitionKey: id}}
indexes:
  by-town: {source: SOURCE, partition: town, project: keys, expire: {path: until, after: 1d}}
  by-nick: {source: SOURCE, partition: nick, project: keys}
"""


@pytest.fixture
async def world(service: Tables) -> World:
    """A source of its own, with a living, a filtered-out and a deleted fact."""
    source = f"p{uuid4().hex[:12]}"
    world = World(service, TOWNS.replace("people", source), source)
    await world.create_tables()
    change = world.writer.change
    person = {"town": "X", "name": "n"}
    await world.apply(change("living", person), change("filtered", {"name": "n"}), change("deleted", person))
    await world.apply(change("deleted", None))
    return world


async def clean_for_a_day(world: World) -> int:
    """Every hour once."""
    forgotten = 0
    for _ in range(24):
        world.now_seconds += 3600
        forgotten += await retention(world).clean([world.plan])
    return forgotten


def retention(world: World) -> Retention:
    """What the timer of a process that has just started uses."""
    return Retention(world.tables, RETENTION_SECONDS, lambda: world.now_seconds, nothing_listed)


async def facts(world: World) -> set[str]:
    """The facts that the ledger remembers."""
    return {row["RowKey"].split(" ")[0] for row in await world.ledger_rows()}


async def test_a_deleted_fact_is_remembered_for_the_retention(world: World) -> None:
    """A late change must not bring it back."""
    world.now_seconds += RETENTION_SECONDS - 2 * DAY_SECONDS
    assert await clean_for_a_day(world) == 0
    assert await facts(world) == {"living", "filtered", "deleted"}


async def test_a_deleted_fact_is_forgotten_after_the_retention(world: World) -> None:
    """Facts that live or are filtered out stay, however old they are."""
    world.now_seconds += RETENTION_SECONDS
    assert await clean_for_a_day(world) == 1
    assert await facts(world) == {"living", "filtered"}


async def test_an_expired_fact_is_forgotten_though_another_index_was_built_since(service: Tables) -> None:
    """The fact has no entry there; its version, and that its last entry has expired, are as they were."""
    source = f"p{uuid4().hex[:12]}"
    world = World(service, EXPIRING.replace("SOURCE", source), source)
    await world.create_tables()
    whole = world.plan
    change = world.writer.change("f", {"town": "X", "until": "2027-01-01T00:00:00Z"})
    world.plan = replace(whole, generations=whole.generations[:1])
    await world.apply(change)
    await ExpiryWalk(world.accounts, world.queue, lambda: world.now_seconds, 0).walk([world.plan])
    await world.sweep()
    world.restart()
    world.plan = replace(whole, generations=whole.generations[1:])
    await world.apply(change)
    world.plan = whole
    world.now_seconds += RETENTION_SECONDS + 1
    assert await clean_for_a_day(world) == 1


async def test_a_fact_that_came_back_stays(world: World) -> None:
    """Its ledger row says no time of deletion any more."""
    await world.apply(world.writer.change("deleted", {"town": "X", "name": "n"}))
    world.now_seconds += RETENTION_SECONDS
    assert await clean_for_a_day(world) == 0


def pages_read(world: World) -> int:
    """How many pages of the ledger have been read so far."""
    assert isinstance(world.tables, MemoryTables | TableClient)
    return world.tables.counts.by_table_and_kind().get((LEDGER_TABLE, "query"), 0)


async def pages_of_run(world: World, **limits: int) -> int:
    """How many pages of the ledger one run reads."""
    before = pages_read(world)
    await retention(world).clean([world.plan], **limits)
    return pages_read(world) - before


async def test_a_run_reads_so_many_pages_and_the_next_one_goes_on(world: World) -> None:
    """One page of each of the 16 buckets, seven in a run: the third run comes to the end."""
    world.now_seconds += RETENTION_SECONDS
    assert [await pages_of_run(world, pages=7) for _ in range(3)] == [7, 7, 2]
    assert await facts(world) == {"living", "filtered"}


async def test_a_round_is_followed_by_a_day_of_rest(world: World) -> None:
    """However often the timer comes."""
    assert [await pages_of_run(world) for _ in range(2)] == [16, 0]
    world.now_seconds += REST_SECONDS - 1
    assert await pages_of_run(world) == 0
    world.now_seconds += 1
    assert await pages_of_run(world) == 16


async def test_a_clock_that_went_back_stops_nothing(world: World) -> None:
    """The end of the last round lies in the future then."""
    assert await pages_of_run(world) == 16
    world.now_seconds -= 10 * DAY_SECONDS
    assert await pages_of_run(world) == 16


async def test_a_run_goes_on_in_the_middle_of_a_bucket(world: World) -> None:
    """Nothing of it is read again."""
    world.plan = replace(world.plan, buckets=1)
    for start in range(0, 1500, 500):
        await world.apply(*[world.writer.change(f"{n:04d}", {"name": "n"}) for n in range(start, start + 500)])
    await world.apply(world.writer.change("9999", None))
    world.now_seconds += RETENTION_SECONDS
    forgotten = [await retention(world).clean([world.plan], pages=1) for _ in range(2)]
    assert forgotten == [0, 1]
    assert await pages_of_run(world, pages=1) == 0, "the round is over"


async def test_a_run_looks_at_so_many_facts_and_the_next_one_goes_on(world: World) -> None:
    """It ends with the page that has used them up."""
    deleted = [f"d{number}" for number in range(40)]
    await world.apply(*[world.writer.change(fact, None) for fact in deleted])
    world.now_seconds += RETENTION_SECONDS
    counts: list[int] = []
    while sum(counts) < len(deleted) + 1:
        counts.append(await retention(world).clean([world.plan], looks=1))
        assert counts[-1], "each run forgets what it looks at"
    assert len(counts) > 5
    assert await facts(world) == {"living", "filtered"}


async def test_sources_share_what_one_run_may_do(world: World) -> None:
    """However many there are, a run ends in time."""
    other = World(world.tables, TOWNS.replace("people", "others"), "others")
    before = pages_read(world)
    await retention(world).clean([world.plan, other.plan], pages=14)
    assert pages_read(world) - before == 14
    before = pages_read(world)
    await retention(world).clean([world.plan, other.plan])
    assert pages_read(world) - before == 2 * 16 - 14
