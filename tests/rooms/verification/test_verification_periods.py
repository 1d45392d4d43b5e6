"""Verification of an index with tables per period: what is over is no difference, and all else is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from shared.catalog.period_tables import drop_expired_tables, tables_of
from shared.tables.port import Upsert
from shared.verification.assembly import RepairOptions, new_verification
from shared.verification.verify import ScanState
from tests.worlds.people import found
from tests.worlds.verifying import VerifiedWorld

if TYPE_CHECKING:
    from shared.tables.port import Tables

TEXT = """
version: 1
sources:
  SOURCE: {cosmos: {database: d, container: people}, partitionKey: id, deletes: {when: gone}}
indexes:
  by-town:
    {source: SOURCE, partition: town, sort: name, project: [phone], expire: {path: until, after: 1w, tables: week}}
"""
# It is Friday, 2027-01-15, 8:00. They expire on Thursday of this week, in the next week, never, and in years.
UNTIL = {"expired": "2027-01-07", "next": "2027-01-14", "never": None, "far": "2030-01-01"}


@pytest.fixture
async def world(service: Tables) -> VerifiedWorld:
    """Four people of one town."""
    source = f"p{uuid4().hex[:12]}"
    world = VerifiedWorld(service, TEXT.replace("SOURCE", source), source)
    await world.create_tables()
    at(world, "2027-01-13T00:00:00")
    for fact, until in UNTIL.items():
        await world.write(fact, person(until))
    at(world, "2027-01-15T08:00:00")
    return world


def person(until: str | None) -> dict[str, Any]:
    """A person of X."""
    return {"town": "X", "name": "n", "phone": "1", "until": until}


def at(world: VerifiedWorld, text: str) -> None:
    """Let it be this time."""
    world.now_seconds = datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


async def dropped(world: VerifiedWorld) -> int:
    """How many tables the timer drops."""
    return await drop_expired_tables(world.accounts, [world.plan], world.now_seconds)


async def starts(world: VerifiedWorld) -> list[str]:
    """The periods that have a table."""
    return [table.start for table in await tables_of(world.accounts, world.generation("by-town"))]


async def test_entries_that_have_expired_are_no_reason_to_look_twice(world: VerifiedWorld) -> None:
    """A whole period of them is in the table until it is over, and all three scans have them."""
    report = await world.verify()
    assert found(report) == {}
    assert (report.counts["entries"], report.counts["examined"]) == (4, 0)


async def test_entries_of_a_period_that_is_over_are_no_differences(world: VerifiedWorld) -> None:
    """Before its table is dropped and afterwards; also when the fact itself is gone."""
    at(world, "2027-01-18T01:00:00")
    for count in (1, 0):
        report = await world.verify(repairs=True, reconciles=True)
        assert found(report) == {}
        assert (report.counts["entries"], report.counts["examined"]) == (3, 0)
        assert found(await world.sample(10)) == {}
        assert await dropped(world) == count
    await world.delete_fact("expired")
    assert found(await world.verify(repairs=True, reconciles=True)) == {}
    assert await starts(world) == ["00000000", "20270118", "20300107"]


async def test_a_table_that_was_dropped_too_early_is_found_and_written_again(world: VerifiedWorld) -> None:
    """With all its rows, at their own versions; the sample sees it, too."""
    (entry,) = await world.current("next")
    before = await world.entity_of(entry)
    await world.tables.delete_table(f"{world.generation('by-town').table}p20270118")
    assert found(await world.sample(10)) == {"missing": 1}
    assert found(await world.verify(repairs=True)) == {"missing": 1}
    assert found(await world.verify()) == {}
    assert await world.entity_of(entry) == before


async def test_a_period_that_ends_during_a_verification_is_no_reason_to_look_at_all_its_facts(
    world: VerifiedWorld,
) -> None:
    """Everything is summed up again, once; what is really wrong is found all the same."""
    (entry,) = await world.current("next")
    entity = await world.entity_of(entry)
    await world.put_row({**entity, "phone": "wrong"})
    state = ScanState()
    steps = 0
    while state.phase != "done":
        await new_verification(world.subject("by-town"), world.dependencies(), RepairOptions(), state).step()
        state = ScanState.of_plain(state.plain(), state.sketch.state())
        steps += 1
        if steps == 1:
            at(world, "2027-01-18T01:00:00")
            await dropped(world)
    assert found(state.report) == {"stale": 1}
    assert (state.report.counts["entries"], state.report.counts["examined"]) == (3, 1)


async def test_a_row_in_the_table_of_another_period_is_a_stray(world: VerifiedWorld) -> None:
    """No worker can have written it there; nor one without a period."""
    (entry,) = await world.current("next")
    entity = await world.entity_of(entry)
    table = world.generation("by-town").table
    await world.tables.transact(table, [Upsert(entity)])
    await world.tables.transact(f"{table}p20300107", [Upsert(entity)])
    await world.tables.transact(f"{table}p20300107", [Upsert({**entity, "PartitionKey": "X !"})])
    assert found(await world.verify()) == {"ghost": 3}
    assert found(await world.verify(repairs=True)) == {"ghost": 3}
    assert found(await world.verify()) == {}
    assert await world.entity_of(entry) == entity


async def test_a_ghost_in_a_period_gets_a_tombstone_there(world: VerifiedWorld) -> None:
    """As in any other table; one in a period that is over is left to its end."""
    (entry,) = await world.current("next")
    entity = await world.entity_of(entry)
    await world.put_row({**entity, "RowKey": f"z !{entity['RowKey'].partition('!')[2]}"})
    assert found(await world.verify(repairs=True)) == {"ghost": 1}
    assert found(await world.verify()) == {}
    at(world, "2027-01-25T01:00:00")
    assert found(await world.verify()) == {}


async def test_a_fact_whose_entry_should_have_moved_to_another_period_is_unapplied(world: VerifiedWorld) -> None:
    """A change that was lost on its way; the repair moves the entry."""
    await world.put_fact("next", person("2027-01-22"))
    assert found(await world.verify()) == {"unapplied": 1}
    assert found(await world.verify(repairs=True)) == {"unapplied": 1}
    assert found(await world.verify()) == {}
    (entry,) = await world.current("next")
    assert entry.partition == "20270125 X !"
