"""Entries that expire are hidden to the second, and removed later from table and ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from shared.errors import SettingError
from shared.inputs.page_tokens import PageTokens
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.pipeline.cleanup.expiry import WALK_PAGES, ExpiryWalk
from shared.pipeline.ledger.retention import Retention
from shared.tables.port import Continuation
from shared.tasks.bookmarks import Bookmark, Bookmarks
from tests.worlds.world import World, nothing_listed

if TYPE_CHECKING:
    from shared.tables.port import Tables

# 2027-01-15T08:00:00Z
NOW_SECONDS = 1_800_000_000
RETENTION_SECONDS = 1000
DELAY_SECONDS = 60
TEXT = """
version: 1
sources:
  SOURCE: {cosmos: {database: d, container: people}, partitionKey: id, deletes: {when: gone}}
indexes:
  by-town: {source: SOURCE, partition: town, sort: name, project: [phone], expire: {path: placed, after: 1h}}
"""


@pytest.fixture
async def world(service: Tables) -> World:
    """A source of its own whose entries live for an hour."""
    source = f"p{uuid4().hex[:12]}"
    world = World(service, TEXT.replace("SOURCE", source), source)
    await world.create_tables()
    return world


def person(placed: Any, name: str = "n") -> dict[str, Any]:
    """A person of X."""
    return {"town": "X", "name": name, "phone": "1", "placed": placed}


def lookups(world: World, now_seconds: float | None) -> Lookups:
    """Lookups at a time."""
    clock = None if now_seconds is None else lambda: now_seconds
    generations = DefinedGenerations(world.definitions)
    return Lookups(generations, Replicas(world.tables), PageTokens(b"key"), now_seconds=clock)


async def found(world: World, now_seconds: float, **parameters: str) -> list[str]:
    """The ids that a lookup shows at a time."""
    page = await lookups(world, now_seconds).find("by-town", {"town": "X", **parameters})
    return [entry["id"] for entry in page.entries]


async def walk(world: World, pages: int = WALK_PAGES) -> int:
    """The timer's walk, in a process that has just started."""
    step = ExpiryWalk(world.accounts, world.queue, lambda: world.now_seconds, DELAY_SECONDS)
    return await step.walk([world.plan], pages)


async def test_a_lookup_hides_an_entry_from_its_very_second_on(world: World) -> None:
    """A fraction of a second counts as a whole one; without a time an entry stays."""
    await world.apply(
        world.writer.change("exact", person("2027-01-15T07:00:00Z", "a")),
        world.writer.change("fraction", person("2027-01-15T07:00:00.5Z", "b")),
        world.writer.change("elsewhere", person("2027-01-15T09:00:01+02:00", "c")),
        world.writer.change("never", person(None, "d")),
    )
    assert await found(world, NOW_SECONDS - 1) == ["exact", "fraction", "elsewhere", "never"]
    assert await found(world, NOW_SECONDS) == ["fraction", "elsewhere", "never"]
    assert await found(world, NOW_SECONDS + 1) == ["never"]
    assert await found(world, NOW_SECONDS + 1, maxpagesize="1") == []


async def test_lookups_of_such_an_index_need_a_clock(world: World) -> None:
    """Otherwise they would show what is over."""
    with pytest.raises(SettingError, match="give the lookups a clock"):
        await lookups(world, None).find("by-town", {"town": "X"})


async def test_a_time_that_is_none_is_a_dead_letter(world: World) -> None:
    """For that index, with the path and the value."""
    await world.apply(world.writer.change("bad", person(1700000000)))
    assert world.outcome.dead_letters == 1


async def test_a_walk_and_a_sweep_remove_rows_and_ledger_entries(world: World) -> None:
    """What is not over stays; a second walk finds nothing; the ledger forgets the fact after its retention."""
    await world.apply(
        world.writer.change("old", person("2027-01-15T06:00:00Z")),
        world.writer.change("new", person("2027-01-15T07:59:00Z")),
    )
    world.now_seconds = NOW_SECONDS
    assert await walk(world) == 1
    world.now_seconds += DELAY_SECONDS
    await world.sweep()
    assert [row["_fact"] for row in await world.rows("by-town", "X !")] == ['{"id":"new","partitionKey":["new"]}']
    world.now_seconds += DELAY_SECONDS
    assert await walk(world) == 0
    rows = {row["RowKey"]: row for row in await world.ledger_rows()}
    assert [key for key, row in rows.items() if "expiredAt" in row] == ["old !old !"]

    world.now_seconds += RETENTION_SECONDS
    for _ in range(24):
        world.now_seconds += 3600
        await Retention(world.tables, RETENTION_SECONDS, lambda: world.now_seconds, nothing_listed).clean([world.plan])
    assert [row["RowKey"] for row in await world.ledger_rows()] == ["new !new !"]


async def test_a_fact_that_changes_after_its_expiry_is_kept_as_any_other(world: World) -> None:
    """Its ledger row says no end any more."""
    await world.apply(world.writer.change("f", person("2027-01-15T06:00:00Z")))
    world.now_seconds = NOW_SECONDS
    await walk(world)
    await world.sweep()
    await world.apply(world.writer.change("f", person("2027-01-15T07:30:00Z")))
    assert await found(world, NOW_SECONDS) == ["f"]
    assert all("expiredAt" not in row for row in await world.ledger_rows())


async def test_a_walk_goes_on_where_the_last_one_stopped(world: World) -> None:
    """At most so many pages each time; after the last page it begins anew."""
    for start in range(0, 1500, 500):
        changes = [world.writer.change(f"{n:04d}", person("2027-01-15T06:00:00Z")) for n in range(start, start + 500)]
        await world.apply(*changes)
    world.now_seconds = NOW_SECONDS
    counts = [await walk(world, pages=1) for _ in range(3)]
    world.now_seconds += 2 * DELAY_SECONDS
    counts.append(await walk(world, pages=1))
    assert counts == [1000, 500, 0, 1000]


async def test_what_a_walk_has_found_is_not_named_again_before_the_sweep(world: World) -> None:
    """A round begins some time after the messages of the last one have come, however often the timer does."""
    await world.apply(world.writer.change("f", person("2027-01-15T06:00:00Z")))
    world.now_seconds = NOW_SECONDS
    found = []
    for _ in range(10):
        found.append(await walk(world))
        world.now_seconds += DELAY_SECONDS / 4
    assert found == [1, 0, 0, 0, 0, 1, 0, 0, 0, 0]
    assert len(world.queue.messages) == 2


async def test_an_entry_with_a_very_long_id_expires_too(world: World) -> None:
    """Which fact it is of takes several columns."""
    await world.apply(world.writer.change("x" * 40_000, person("2027-01-15T06:00:00Z")))
    world.now_seconds = NOW_SECONDS
    assert await walk(world) == 1
    await world.sweep()
    assert await world.rows("by-town", "X !") == []


async def test_bookmarks_of_tables_that_are_gone_are_forgotten(world: World) -> None:
    """They may have the key of an entry."""
    bookmarks = Bookmarks(world.tables, "expiry")
    await bookmarks.keep("retired INDEX_STORAGE", Bookmark(continuation=Continuation("A !", "key of a fact")))
    await walk(world)
    assert await bookmarks.read("retired INDEX_STORAGE") == Bookmark()
