"""Repair of one index, on both Table services: damage from outside is found and repaired."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from shared.entries.keys.index_keys import row_key
from shared.entries.keys.versions import ticks_clock
from shared.entries.rows.entry_row import live_row, tombstone_row
from shared.inputs.page_tokens import PageTokens
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import Upsert
from tests.worlds.kept_facts import FACT_TABLE, kept_key
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
@pytest.mark.parametrize("fact", ["f", "/" * 200])
async def test_a_missing_row_is_written_again_at_its_own_version(
    quick_world: VerifiedWorld, index: str, fact: str
) -> None:
    """With the very key and columns that it had."""
    entry = (await quick_world.current(fact, index))[-1]
    before = await quick_world.entity_of(entry, index)
    await quick_world.delete_row(entry, index)
    report = await quick_world.verify(index)
    assert found(report) == {"missing": 1}
    assert report.examples[0]["id"] == fact
    assert report.examples[0]["RowKey"] == row_key(entry.entry_key, entry.version)
    assert await repaired(quick_world, index) == {"missing": 1}
    assert await quick_world.entity_of(entry, index) == before


@pytest.mark.parametrize("index", INDEXES)
async def test_stale_columns_are_written_again(quick_world: VerifiedWorld, index: str) -> None:
    """Also when the row does not say any more whose it is."""
    entry = (await quick_world.current("g", index))[0]
    before = await quick_world.entity_of(entry, index)
    await quick_world.put_row({**before, "phone": "wrong"}, index)
    assert found(await quick_world.verify(index)) == {"stale": 1}
    assert await repaired(quick_world, index) == {"stale": 1}
    await quick_world.put_row({**before, "_fact": "nonsense"}, index)
    assert await repaired(quick_world, index) == {"stale": 1}
    assert await quick_world.entity_of(entry, index) == before


async def test_a_page_has_another_etag_after_its_repair(quick_world: VerifiedWorld) -> None:
    """A caller that keeps the wrong page must not hear that nothing has changed."""
    lookups = Lookups(DefinedGenerations(quick_world.definitions), Replicas(quick_world.tables), PageTokens(b"key"))
    (entry,) = await quick_world.current("g")
    before = await quick_world.entity_of(entry)
    town = {"town": entry.partition.removesuffix(" !")}
    right = await lookups.find("by-town", town)
    await quick_world.put_row({**before, "phone": "wrong"})
    wrong = await lookups.find("by-town", town)
    await repaired(quick_world)
    again = await lookups.find("by-town", town)
    assert again.entries == right.entries != wrong.entries
    assert again.etag == right.etag != wrong.etag


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("when", [0, 6, 99], ids=["older", "newer", "from the future"])
@pytest.mark.parametrize("fact", ["g", "/" * 200])
async def test_a_ghost_is_removed(quick_world: VerifiedWorld, index: str, when: int, fact: str) -> None:
    """Whatever version it claims to be."""
    entry = (await quick_world.current(fact, index))[0]
    entity = await quick_world.entity_of(entry, index)
    await quick_world.put_row(
        {**entity, "PartitionKey": f"{entry.partition}!", "RowKey": row_key(entry.entry_key, at(when))}, index
    )
    report = await quick_world.verify(index)
    assert found(report) == {"ghost": 1}
    assert report.examples[0]["version"] == at(when)
    assert await repaired(quick_world, index) == {"ghost": 1}


@pytest.mark.parametrize("when", [6, 99])
async def test_a_row_that_hides_the_right_one_is_removed(quick_world: VerifiedWorld, when: int) -> None:
    """Live or tombstone, it stands above the row that the ledger has."""
    (entry,) = await quick_world.current("g")
    before = await quick_world.entity_of(entry)
    for row in (
        tombstone_row(entry.partition, entry.entry_key, at(when)),
        live_row(entry.partition, entry.entry_key, at(when), {"phone": "wrong"}),
    ):
        await quick_world.put_row(row)
        assert await repaired(quick_world) == {"missing": 1}
        assert await quick_world.entity_of(entry) == before


async def test_a_ghost_of_a_fact_that_never_was_is_removed(world: VerifiedWorld) -> None:
    """Neither ledger nor container knows it: the delete gets the clock of its row."""
    (entry,) = await world.current("g")
    entity = await world.entity_of(entry)
    other = {"_fact": '{"id":"x","partitionKey":["x"]}', "RowKey": row_key("x !x !x !", at(3))}
    await world.put_row({**entity, **other})
    assert await repaired(world) == {"ghost": 1}
    state = (await world.ledger_row("x")).states[world.generation("by-town").id]
    assert state.version == at(3)[:35] + "1" + "00000000"


async def test_a_lost_ledger_row_is_made_again_from_the_fact(world: VerifiedWorld) -> None:
    """Its change is applied as if it came for the first time."""
    before = await world.ledger_row("f")
    await world.put_ledger_row("f", None)
    assert found(await world.verify()) == {"unapplied": 1, "ghost": 1}
    assert await repaired(world) == {"unapplied": 1, "ghost": 1}
    after = await world.ledger_row("f")
    assert after.source_etag == before.source_etag
    identity = world.generation("by-town").id
    assert after.states[identity] == replace(before.states[identity], removed=())


async def test_a_lost_ledger_row_with_an_entry_elsewhere(world: VerifiedWorld) -> None:
    """What the fact had when the ledger had lost it is removed, too."""
    await world.put_ledger_row("f", None)
    await world.put_fact("f", person("n", "C"))
    assert await repaired(world) == {"unapplied": 1, "ghost": 1}
    assert (await world.current("f"))[0].partition == "C !"


async def test_an_entry_that_the_ledger_lost_is_claimed_again(world: VerifiedWorld) -> None:
    """The state says nothing of an entry that its own version has."""
    row = await world.ledger_row("f")
    identity = world.generation("by-home").id
    state = row.states[identity]
    await world.put_ledger_row(
        "f", replace(row, states={**row.states, identity: replace(state, current=state.current[:1])})
    )
    assert await repaired(world, "by-home") == {"unapplied": 1, "ghost": 1}
    assert len(await world.current("f", "by-home")) == 2
    assert (await world.ledger_row("f")).states[identity].version == state.version


async def test_a_change_that_was_dropped_when_a_clock_went_back(world: VerifiedWorld) -> None:
    """It gets the ledger's second and its own sequence number: later changes win, older ones lose."""
    await world.put_fact("g", person("n", "C"), seconds=-100)
    await world.apply_fact("g")
    assert world.outcome.dropped == 1
    assert found(await world.verify()) == {"unapplied": 1}
    assert await repaired(world) == {"unapplied": 1}
    state = (await world.ledger_row("g")).states[world.generation("by-town").id]
    assert state.version[:35] == ticks_clock(1_700_000_003, 7)
    world.restart()
    await world.apply(world.writer.change("g", person("n", "A"), 3))
    assert world.outcome.dropped == 1
    await world.write("g", person("n", "D"))
    assert (await world.current("g"))[0].partition == "D !"


async def test_a_claim_without_its_rows_is_a_difference(world: VerifiedWorld) -> None:
    """A worker died after its claim; the repair does what a redelivery would."""
    state = (await world.ledger_row("f")).states[world.generation("by-town").id]
    (entry,), (removed,) = state.current, state.removed
    await world.put_row(
        {**await world.entity_of(entry), "PartitionKey": "B !", "RowKey": row_key(removed.entry_key, removed.version)}
    )
    await world.delete_row(entry)
    await world.remove(tombstone_row("B !", removed.entry_key, state.version))
    assert await repaired(world) == {"missing": 1, "ghost": 1}


async def test_a_whole_table_that_was_lost_is_counted_and_written_again(world: VerifiedWorld) -> None:
    """Every entry is missing."""
    table = world.generation("by-home").table
    await world.tables.delete_table(table)
    await world.tables.create_table(table)
    assert await repaired(world, "by-home") == {"missing": 8}


@pytest.mark.parametrize("index", ["sharded", "placed", "by-town"])
async def test_rows_where_no_worker_writes_are_found_and_removed(quick_world: VerifiedWorld, index: str) -> None:
    """Under a key that is none of ours, without a shard, or in another account than their partition belongs to."""
    (entry,) = await quick_world.current("g", index)
    entity = await quick_world.entity_of(entry, index)
    generation = quick_world.generation(index)
    for account, table in sorted(generation.tables()):
        tables = quick_world.accounts.tables(account)
        await tables.transact(table, [Upsert({**entity, "RowKey": "nonsense"})])
        if account != generation.account_of(entry.partition):
            await tables.transact(table, [Upsert(entity)])
    strays = 3 if index == "placed" else 1
    assert found(await quick_world.verify(index)) == {"ghost": strays}
    assert await repaired(quick_world, index) == {"ghost": strays}
    assert await quick_world.entity_of(entry, index) == entity


async def test_a_document_that_cannot_be_read_fails_nothing_else(quick_world: VerifiedWorld) -> None:
    """To the feed it is a dead letter; here it is a difference that only its writer can fix."""
    key = {"PartitionKey": quick_world.plan.source, "RowKey": kept_key("g")}
    unreadable = {"id": "g", "town": "C", "_ts": 1_700_000_009, "_lsn": "none", "_etag": "other"}
    await quick_world.tables.transact(FACT_TABLE, [Upsert({**key, "document": json.dumps(unreadable)})])
    (entry,) = await quick_world.current("h")
    await quick_world.delete_row(entry)
    report = await quick_world.verify(repairs=True)
    assert (report.counts["repaired"], report.counts["unrepaired"]) == (1, 1)
    assert "missing" not in found(await quick_world.verify())
