"""Verification and repair of one index, on both Table services: what an outside hand damages is found and mended."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from shared.keys.index import row_key
from shared.keys.versions import ticks_clock, version
from shared.projection.rows import live_row, tombstone_row
from shared.tables.memory import MemoryTables
from shared.tables.port import Upsert
from tests.pipeline.kept_facts import FACT_TABLE, kept_key
from tests.pipeline.verifying import VerifiedWorld

if TYPE_CHECKING:
    from shared.pipeline.verification.report import Report
    from shared.tables.port import Tables

TEXT = """
version: 1
sources:
  SOURCE: {cosmos: {database: d, container: people}, partitionKey: id, deletes: {when: gone}}
indexes:
  by-town: {source: SOURCE, partition: town, sort: name, project: [phone]}
  by-town-and-age:
    source: SOURCE
    partition: [town, {path: team, nulls: index}]
    sort: [{path: age, type: integer, order: desc}, name]
    project: all
  by-home: {source: SOURCE, each: {home: homes}, partition: home, project: keys, where: "!hidden"}
  sharded: {source: SOURCE, partition: town, sort: {path: name, order: desc}, project: keys, shards: 7, hot: {A: 3}}
  placed:
    source: SOURCE
    partition: town
    project: [phone]
    placement: {by: hash, accounts: [INDEX_STORAGE, INDEX_2]}
  expiring: {source: SOURCE, partition: town, project: [phone], expire: {path: until, after: 1h}}
  by-text: {source: SOURCE, partition: text, sort: {path: text, name: again}, project: [phone]}
"""
INDEXES = ["by-town", "by-town-and-age", "by-home", "sharded", "placed", "expiring", "by-text"]


def person(name: str, town: str = "A", **fields: Any) -> dict[str, Any]:
    """A fact that has an entry in every index, and two in `by-home`; its text is longer than a key may be."""
    long = {"text": f"{town}{'x' * 600}", "homes": [town, "Z"], "age": 7}
    return {"town": town, "name": name, "phone": "1", **long, **fields}


@pytest.fixture
async def world(service: Tables) -> VerifiedWorld:
    """Some people, on every Table service."""
    return await some_people(service)


@pytest.fixture
async def quick_world() -> VerifiedWorld:
    """The same in memory, for tests of many cases."""
    return await some_people(MemoryTables())


async def some_people(service: Tables) -> VerifiedWorld:
    """Four people in two towns, one of whom has moved, and one who is nowhere."""
    source = f"p{uuid4().hex[:12]}"
    world = VerifiedWorld(service, TEXT.replace("SOURCE", source), source)
    await world.create_tables()
    await world.write("f", person("f", "B"))
    for fact, town in (("f", "A"), ("g", "A"), ("h", "B"), ("/" * 200, "A")):
        await world.write(fact, person("n", town))
    await world.write("n", {"name": "nobody"})
    return world


def found(report: Report) -> dict[str, int]:
    """The differences by kind, without the zeros."""
    return {kind: count for kind, count in report.plain()["differences"].items() if count}


async def repaired(world: VerifiedWorld, index: str = "by-town", **asked: bool) -> dict[str, int]:
    """The differences that a repair saw; after it there are none, and what was written is swept."""
    report = await world.verify(index, **asked or {"repairs": True})
    assert report.counts["unrepaired"] == 0
    await world.sweep()
    after = await world.verify(index)
    assert found(after) == {}
    assert after.counts["tombstones"] == after.counts["masked"] == 0
    return found(report)


def at(number: int) -> str:
    """A version that no change has; 6 writes have been made."""
    return version(str(ticks_clock(1_700_000_000 + number, number)), "0badc0de", is_delete=False)


@pytest.mark.parametrize("index", INDEXES)
async def test_a_right_index_has_no_differences(quick_world: VerifiedWorld, index: str) -> None:
    """It is read once, and nobody is looked at in detail."""
    report = await quick_world.verify(index)
    assert found(report) == {}
    assert report.counts["facts"] == report.counts["ledgerRows"] == 5
    assert report.counts["entries"] == (8 if index == "by-home" else 4)
    assert report.counts["examined"] == 0
    assert quick_world.pauses == []


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("fact", ["f", "/" * 200])
async def test_a_missing_row_is_written_again_at_its_own_version(
    quick_world: VerifiedWorld, index: str, fact: str
) -> None:
    """With the very key and columns that it had."""
    live = (await quick_world.live(fact, index))[-1]
    before = await quick_world.entity_of(live, index)
    await quick_world.delete_row(live, index)
    report = await quick_world.verify(index)
    assert found(report) == {"missing": 1}
    assert report.examples[0]["id"] == fact
    assert report.examples[0]["RowKey"] == row_key(live.pair, live.at)
    assert await repaired(quick_world, index) == {"missing": 1}
    assert await quick_world.entity_of(live, index) == before


@pytest.mark.parametrize("index", INDEXES)
async def test_stale_columns_are_written_again(quick_world: VerifiedWorld, index: str) -> None:
    """Also when the row does not say any more whose it is."""
    live = (await quick_world.live("g", index))[0]
    before = await quick_world.entity_of(live, index)
    await quick_world.put_row({**before, "phone": "wrong"}, index)
    assert found(await quick_world.verify(index)) == {"stale": 1}
    assert await repaired(quick_world, index) == {"stale": 1}
    await quick_world.put_row({**before, "_fact": "nonsense"}, index)
    assert await repaired(quick_world, index) == {"stale": 1}
    assert await quick_world.entity_of(live, index) == before


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("when", [0, 6, 99], ids=["older", "newer", "from the future"])
@pytest.mark.parametrize("fact", ["g", "/" * 200])
async def test_a_ghost_is_removed(quick_world: VerifiedWorld, index: str, when: int, fact: str) -> None:
    """Whatever version it claims to be."""
    live = (await quick_world.live(fact, index))[0]
    entity = await quick_world.entity_of(live, index)
    await quick_world.put_row(
        {**entity, "PartitionKey": f"{live.partition}!", "RowKey": row_key(live.pair, at(when))}, index
    )
    report = await quick_world.verify(index)
    assert found(report) == {"ghost": 1}
    assert report.examples[0]["version"] == at(when)
    assert await repaired(quick_world, index) == {"ghost": 1}


@pytest.mark.parametrize("when", [6, 99])
async def test_a_row_that_hides_the_right_one_is_removed(quick_world: VerifiedWorld, when: int) -> None:
    """Live or tombstone, it stands above the row that the ledger has."""
    (live,) = await quick_world.live("g")
    before = await quick_world.entity_of(live)
    for row in (
        tombstone_row(live.partition, live.pair, at(when)),
        live_row(live.partition, live.pair, at(when), {"phone": "wrong"}),
    ):
        await quick_world.put_row(row)
        assert await repaired(quick_world) == {"missing": 1}
        assert await quick_world.entity_of(live) == before


async def test_a_ghost_of_a_fact_that_never_was_is_removed(world: VerifiedWorld) -> None:
    """Neither ledger nor container knows it: the delete gets the clock of its row."""
    (live,) = await world.live("g")
    entity = await world.entity_of(live)
    other = {"_fact": '{"id":"x","partitionKey":["x"]}', "RowKey": row_key("x !x !x !", at(3))}
    await world.put_row({**entity, **other})
    assert await repaired(world) == {"ghost": 1}
    part = (await world.ledger_row("x")).parts[world.generation("by-town").id]
    assert part.version == at(3)[:35] + "1" + "00000000"


async def test_a_lost_ledger_row_is_made_again_from_the_fact(world: VerifiedWorld) -> None:
    """Its change is applied as if it came for the first time."""
    before = await world.ledger_row("f")
    await world.put_ledger_row("f", None)
    assert found(await world.verify()) == {"unapplied": 1, "ghost": 1}
    assert await repaired(world) == {"unapplied": 1, "ghost": 1}
    after = await world.ledger_row("f")
    assert after.mark == before.mark
    identity = world.generation("by-town").id
    assert after.parts[identity] == replace(before.parts[identity], left=())


async def test_a_lost_ledger_row_with_an_entry_elsewhere(world: VerifiedWorld) -> None:
    """What the fact had when nobody knew it any more is removed, too."""
    await world.put_ledger_row("f", None)
    await world.put_fact("f", person("n", "C"))
    assert await repaired(world) == {"unapplied": 1, "ghost": 1}
    assert (await world.live("f"))[0].partition == "C !"


async def test_an_entry_that_the_ledger_lost_is_claimed_again(world: VerifiedWorld) -> None:
    """The part says nothing of an entry that its own version has."""
    row = await world.ledger_row("f")
    identity = world.generation("by-home").id
    part = row.parts[identity]
    await world.put_ledger_row("f", replace(row, parts={**row.parts, identity: replace(part, live=part.live[:1])}))
    assert await repaired(world, "by-home") == {"unapplied": 1, "ghost": 1}
    assert len(await world.live("f", "by-home")) == 2
    assert (await world.ledger_row("f")).parts[identity].version == part.version


async def test_a_change_that_was_dropped_when_a_clock_went_back(world: VerifiedWorld) -> None:
    """It gets the ledger's second and its own sequence number: later changes win, older ones lose."""
    await world.put_fact("g", person("n", "C"), seconds=-100)
    await world.apply_fact("g")
    assert world.outcome.dropped == 1
    assert found(await world.verify()) == {"unapplied": 1}
    assert await repaired(world) == {"unapplied": 1}
    part = (await world.ledger_row("g")).parts[world.generation("by-town").id]
    assert part.version[:35] == ticks_clock(1_700_000_003, 7)
    world.restart()
    await world.apply(world.writer.change("g", person("n", "A"), 3))
    assert world.outcome.dropped == 1
    await world.write("g", person("n", "D"))
    assert (await world.live("g"))[0].partition == "D !"


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
    (live,) = await world.live("h")
    await world.delete_row(live)
    report = await world.verify(repairs=True)
    assert found(report) == {"orphan": 1, "missing": 1}
    assert found(await world.verify()) == {"orphan": 1}
    assert await repaired(world, reconciles=True) == {"orphan": 1}
    row = await world.ledger_row("g")
    assert row.deleted_at_seconds == int(world.now_seconds)
    assert row.parts[world.generation("by-town").id].version == f"{ticks_clock(1_700_000_003, 3)}100000000"


async def test_a_reconciled_fact_can_come_back_and_old_changes_cannot(world: VerifiedWorld) -> None:
    """The delete lies between the version that was there and any that follows."""
    await world.delete_fact("g")
    await world.verify(reconciles=True)
    world.restart()
    await world.apply(world.writer.change("g", person("n", "A"), 3))
    assert world.outcome.dropped == 1
    assert await world.live("g") == ()
    await world.write("g", person("n", "E"))
    assert (await world.live("g"))[0].partition == "E !"
    assert found(await world.verify()) == {}


async def test_hidden_rows_and_forgotten_tombstones_are_counted_and_cleaned(world: VerifiedWorld) -> None:
    """They are no differences: lookups do not see them."""
    world.queue.messages = []
    (live,) = await world.live("g")
    entity = await world.entity_of(live)
    await world.put_row({**entity, "RowKey": row_key(live.pair, at(1))})
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


async def test_a_claim_without_its_rows_is_a_difference(world: VerifiedWorld) -> None:
    """A worker died after its claim; the repair does what a redelivery would."""
    part = (await world.ledger_row("f")).parts[world.generation("by-town").id]
    (live,), (left,) = part.live, part.left
    await world.put_row({**await world.entity_of(live), "PartitionKey": "B !", "RowKey": row_key(left.pair, left.at)})
    await world.delete_row(live)
    await world.remove(tombstone_row("B !", left.pair, part.version))
    assert await repaired(world) == {"missing": 1, "ghost": 1}


async def test_facts_that_do_not_fit_are_dead_letters_and_no_differences(world: VerifiedWorld) -> None:
    """The part says that it failed."""
    await world.write("g", person("n", "A", age="old"))
    assert found(await world.verify("by-town-and-age")) == {}
    assert found(await world.verify("by-town")) == {}


async def test_times_that_the_host_rewrote_are_no_difference(world: VerifiedWorld) -> None:
    """The container has them as they were written, the ledger as the trigger brought them."""
    document = person("n", "A", phone="2026-01-01T00:00:00.000Z")
    await world.put_fact("g", document)
    await world.apply(world.writer.change("g", {**document, "phone": "2026-01-01T00:00:00Z"}, world.writes))
    assert found(await world.verify()) == {}
    (live,) = await world.live("g")
    await world.delete_row(live)
    assert await repaired(world) == {"missing": 1}


async def test_a_sample_finds_what_is_wrong_with_its_facts_and_their_neighbours(world: VerifiedWorld) -> None:
    """A ghost between two entries belongs to nobody who was drawn."""
    (live,) = await world.live("g")
    entity = await world.entity_of(live)
    await world.put_row({**entity, "RowKey": row_key("n !h !h !", at(3)), "_fact": '{"id":"h","partitionKey":["h"]}'})
    report = await world.sample(100)
    assert found(report) == {"ghost": 1}
    await world.delete_row(live)
    assert found(await world.sample(100)) == {"missing": 1, "ghost": 1}
    assert (await world.sample(2)).counts["ledgerRows"] == 2


async def test_a_whole_table_that_was_lost_is_counted_and_written_again(world: VerifiedWorld) -> None:
    """Every entry is missing."""
    table = world.generation("by-home").table
    await world.tables.delete_table(table)
    await world.tables.create_table(table)
    assert await repaired(world, "by-home") == {"missing": 8}


async def test_expired_entries_are_neither_missing_nor_ghosts(world: VerifiedWorld) -> None:
    """Whether their rows are still there, still in the ledger, or gone from either."""
    await world.write("g", person("n", "A", until="2026-01-01T00:00:00Z"))
    await world.write("h", person("n", "B", until="2026-01-01T00:00:00Z"))
    await world.write("f", person("n", "A", until="2999-01-01T00:00:00Z"))
    assert found(await world.verify("expiring")) == {}
    (live,) = await world.live("g", "expiring")
    row = await world.ledger_row("g")
    identity = world.generation("expiring").id
    await world.put_ledger_row("g", replace(row, parts={**row.parts, identity: replace(row.parts[identity], live=())}))
    assert found(await world.verify("expiring", repairs=True)) == {}
    await world.delete_row(live, "expiring")
    assert found(await world.verify("expiring", repairs=True)) == {}
    assert await world.live("g", "expiring") == ()
    (live,) = await world.live("h", "expiring")
    await world.delete_row(live, "expiring")
    assert found(await world.verify("expiring")) == {}
    (live,) = await world.live("f", "expiring")
    await world.delete_row(live, "expiring")
    assert found(await world.verify("expiring")) == {"missing": 1}


async def test_a_fact_that_changes_all_the_time_is_on_its_way_and_no_difference(
    quick_world: VerifiedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can look at it between two claims; the verification goes on without it."""
    (live,) = await quick_world.live("g")
    await quick_world.delete_row(live)
    reads = quick_world.facts.read

    async def busy(*arguments: Any) -> dict[str, Any] | None:
        row = await quick_world.ledger_row("g")
        await quick_world.put_ledger_row("g", row)
        return await reads(*arguments)

    # Somebody writes whenever somebody looks.
    monkeypatch.setattr(quick_world.facts, "read", busy)
    report = await quick_world.verify(repairs=True)
    assert found(report) == {}
    assert report.counts["behind"] == 1


@pytest.mark.parametrize("index", ["sharded", "placed", "by-town"])
async def test_rows_where_no_worker_writes_are_found_and_removed(quick_world: VerifiedWorld, index: str) -> None:
    """Under a key that is none of ours, without a shard, or in another account than their partition belongs to."""
    (live,) = await quick_world.live("g", index)
    entity = await quick_world.entity_of(live, index)
    generation = quick_world.generation(index)
    for account, table in sorted(generation.tables()):
        tables = quick_world.accounts.tables(account)
        await tables.transact(table, [Upsert({**entity, "RowKey": "nonsense"})])
        if account != generation.account_of(live.partition):
            await tables.transact(table, [Upsert(entity)])
    strays = 3 if index == "placed" else 1
    assert found(await quick_world.verify(index)) == {"ghost": strays}
    assert await repaired(quick_world, index) == {"ghost": strays}
    assert await quick_world.entity_of(live, index) == entity


async def test_a_document_that_cannot_be_read_fails_nothing_else(quick_world: VerifiedWorld) -> None:
    """To the feed it is a dead letter; here it is a difference that only its writer can mend."""
    key = {"PartitionKey": quick_world.plan.source, "RowKey": kept_key("g")}
    unreadable = {"id": "g", "town": "C", "_ts": 1_700_000_009, "_lsn": "none", "_etag": "other"}
    await quick_world.tables.transact(FACT_TABLE, [Upsert({**key, "document": json.dumps(unreadable)})])
    (live,) = await quick_world.live("h")
    await quick_world.delete_row(live)
    report = await quick_world.verify(repairs=True)
    assert (report.counts["repaired"], report.counts["unrepaired"]) == (1, 1)
    assert "missing" not in found(await quick_world.verify())
