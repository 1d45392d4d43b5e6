"""Verification of one index: what is a difference and what is none, on both Table services."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from shared.entries.keys.index_keys import row_key
from shared.entries.keys.versions import ticks_clock
from shared.entries.rows.entry_row import tombstone_row
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.people import INDEXES, at, found, person, repaired, some_people

if TYPE_CHECKING:
    from shared.tables.port import Tables
    from tests.worlds.verifying import VerifiedWorld


@pytest.fixture
async def world(service: Tables) -> VerifiedWorld:
    """Some people, on every Table service."""
    return await some_people(service)


@pytest.fixture
async def quick_world() -> VerifiedWorld:
    """The same in memory, for tests of many cases."""
    return await some_people(MemoryTables())


@pytest.mark.parametrize("index", INDEXES)
async def test_a_right_index_has_no_differences(quick_world: VerifiedWorld, index: str) -> None:
    """It is read once, and no fact is examined."""
    report = await quick_world.verify(index)
    assert found(report) == {}
    assert report.counts["facts"] == report.counts["ledgerRows"] == 5
    assert report.counts["entries"] == (8 if index == "by-home" else 4)
    assert report.counts["examined"] == 0
    assert quick_world.pauses == []


async def test_a_young_change_is_lag_and_no_difference(world: VerifiedWorld) -> None:
    """It may be on its way; after the grace it is a difference."""
    await world.put_fact("g", person("n", "C"))
    world.now_seconds = 1_700_000_100
    report = await world.verify()
    assert found(report) == {}
    assert report.counts["behind"] == 1
    world.now_seconds += 3600
    assert await repaired(world) == {"unapplied": 1}


async def test_facts_that_are_gone_are_reconciled_and_nothing_else(world: VerifiedWorld) -> None:
    """A repair leaves them: an emptied container must not empty the index."""
    await world.delete_fact("g")
    (entry,) = await world.current("h")
    await world.delete_row(entry)
    report = await world.verify(repairs=True)
    assert found(report) == {"orphan": 1, "missing": 1}
    assert found(await world.verify()) == {"orphan": 1}
    assert await repaired(world, reconciles=True) == {"orphan": 1}
    row = await world.ledger_row("g")
    assert row.deleted_at_seconds == int(world.now_seconds)
    assert row.states[world.generation("by-town").id].version == f"{ticks_clock(1_700_000_003, 3)}100000000"


async def test_a_reconciled_fact_can_come_back_and_old_changes_cannot(world: VerifiedWorld) -> None:
    """The delete lies between the version that was there and any that follows."""
    await world.delete_fact("g")
    await world.verify(reconciles=True)
    world.restart()
    await world.apply(world.writer.change("g", person("n", "A"), 3))
    assert world.outcome.dropped == 1
    assert await world.current("g") == ()
    await world.write("g", person("n", "E"))
    assert (await world.current("g"))[0].partition == "E !"
    assert found(await world.verify()) == {}


async def test_hidden_rows_and_forgotten_tombstones_are_counted_and_cleaned(world: VerifiedWorld) -> None:
    """They are no differences: lookups do not see them."""
    world.queue.messages = []
    (entry,) = await world.current("g")
    entity = await world.entity_of(entry)
    await world.put_row({**entity, "RowKey": row_key(entry.entry_key, at(1))})
    await world.put_row(tombstone_row("A !", "gone !x !x !", at(2)))
    report = await world.verify()
    assert found(report) == {}
    # The tombstone of the fact that moved has lost its message, too.
    assert [report.counts[name] for name in ("rows", "entries", "tombstones", "masked")] == [7, 4, 2, 1]
    assert await repaired(world) == {}
    assert (await world.verify()).counts["rows"] == 4


async def test_rows_that_wait_for_their_sweep_are_left_alone(world: VerifiedWorld) -> None:
    """A message for them is on its way."""
    world.now_seconds = 1_700_000_100
    world.queue.messages = []
    report = await world.verify(repairs=True)
    assert report.counts["tombstones"] == 1
    assert report.counts["swept"] == 0
    assert world.queue.messages == []


async def test_facts_that_do_not_fit_are_dead_letters_and_no_differences(world: VerifiedWorld) -> None:
    """The part says that it failed."""
    await world.write("g", person("n", "A", age="old"))
    assert found(await world.verify("by-town-and-age")) == {}
    assert found(await world.verify("by-town")) == {}


async def test_facts_that_do_not_fit_are_counted_once(quick_world: VerifiedWorld) -> None:
    """Whether their entries show that (a fact that had one), or nothing does (a new one); with differences and without,
    as a sample of all facts counts them."""
    world, index = quick_world, "by-town-and-age"
    await world.write("new", person("n", "A", age="old"))
    assert (await world.verify(index)).counts["deadLetters"] == 1
    assert (await world.sample(100, index)).counts["deadLetters"] == 1
    await world.write("g", person("n", "A", age="old"))
    (entry,) = await world.current("h", index)
    await world.delete_row(entry, index)
    report = await world.verify(index)
    assert found(report) == {"missing": 1}
    assert report.counts["deadLetters"] == (await world.sample(100, index)).counts["deadLetters"] == 2
    assert (await world.verify("by-town")).counts["deadLetters"] == 0


async def test_times_that_the_host_rewrote_are_no_difference(world: VerifiedWorld) -> None:
    """The container has them as they were written, the ledger as the trigger brought them."""
    document = person("n", "A", phone="2026-01-01T00:00:00.000Z")
    await world.put_fact("g", document)
    await world.apply(world.writer.change("g", {**document, "phone": "2026-01-01T00:00:00Z"}, world.writes))
    assert found(await world.verify()) == {}
    (entry,) = await world.current("g")
    await world.delete_row(entry)
    assert await repaired(world) == {"missing": 1}


async def test_a_sample_finds_what_is_wrong_with_its_facts_and_their_neighbours(world: VerifiedWorld) -> None:
    """A ghost between two entries belongs to no fact that was drawn."""
    (entry,) = await world.current("g")
    entity = await world.entity_of(entry)
    await world.put_row({**entity, "RowKey": row_key("n !h !h !", at(3)), "_fact": '{"id":"h","partitionKey":["h"]}'})
    report = await world.sample(100)
    assert found(report) == {"ghost": 1}
    await world.delete_row(entry)
    assert found(await world.sample(100)) == {"missing": 1, "ghost": 1}
    assert (await world.sample(2)).counts["ledgerRows"] == 2


async def test_expired_entries_are_neither_missing_nor_ghosts(world: VerifiedWorld) -> None:
    """Whether their rows are still there, still in the ledger, or gone from either."""
    await world.write("g", person("n", "A", until="2026-01-01T00:00:00Z"))
    await world.write("h", person("n", "B", until="2026-01-01T00:00:00Z"))
    await world.write("f", person("n", "A", until="2999-01-01T00:00:00Z"))
    assert found(await world.verify("expiring")) == {}
    (entry,) = await world.current("g", "expiring")
    row = await world.ledger_row("g")
    identity = world.generation("expiring").id
    await world.put_ledger_row(
        "g", replace(row, states={**row.states, identity: replace(row.states[identity], current=())})
    )
    assert found(await world.verify("expiring", repairs=True)) == {}
    await world.delete_row(entry, "expiring")
    assert found(await world.verify("expiring", repairs=True)) == {}
    assert await world.current("g", "expiring") == ()
    (entry,) = await world.current("h", "expiring")
    await world.delete_row(entry, "expiring")
    assert found(await world.verify("expiring")) == {}
    (entry,) = await world.current("f", "expiring")
    await world.delete_row(entry, "expiring")
    assert found(await world.verify("expiring")) == {"missing": 1}


async def test_a_fact_that_changes_all_the_time_is_on_its_way_and_no_difference(
    quick_world: VerifiedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot be examined between two claims; the verification goes on without it."""
    (entry,) = await quick_world.current("g")
    await quick_world.delete_row(entry)
    reads = quick_world.facts.read

    async def busy(*arguments: Any) -> dict[str, Any] | None:
        row = await quick_world.ledger_row("g")
        await quick_world.put_ledger_row("g", row)
        return await reads(*arguments)

    # A worker writes whenever the verification looks.
    monkeypatch.setattr(quick_world.facts, "read", busy)
    report = await quick_world.verify(repairs=True)
    assert found(report) == {}
    assert report.counts["behind"] == 1
