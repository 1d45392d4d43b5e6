"""Verification and repair of summaries: contributions against facts, totals against contributions."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from shared.entries.projection.generations import place_of
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import Delete, RowRange, Upsert
from tests.worlds.verifying import VerifiedWorld

TEXT = """
version: 1
sources:
  people: {cosmos: {database: d, container: people}, partitionKey: id, deletes: {when: gone}}
indexes:
  by-town:
    source: people
    partition: country
    sort: town
    summarize: {people: facts, spent: {sum: spent}, most: {max: spent}}
    shards: 2
"""


async def a_world() -> VerifiedWorld:
    """Nine people in three towns of one country, all right."""
    world = VerifiedWorld(MemoryTables(), TEXT)
    await world.create_tables()
    for number in range(9):
        await world.write(f"f{number}", {"country": "US", "town": "ABC"[number % 3], "spent": number / 10})
    return world


async def rows(world: VerifiedWorld, prefix: str) -> list[dict[str, Any]]:
    """All totals, all contributions, or both."""
    found = []
    for partition in ("000 US !", "001 US !"):
        place = place_of(world.generation("by-town"), partition)
        before = chr(ord(prefix) + 1) if prefix else None
        page = await world.tables.query(place.table, RowRange(partition, prefix, before))
        found += [dict(row.entity) for row in page.rows]
    return found


async def state(world: VerifiedWorld) -> list[dict[str, Any]]:
    """What all totals are, without what a repair may write in another way."""
    return [{**row, "_json": orjson.loads(row["_json"])} for row in await rows(world, "0")]


async def assert_repaired(world: VerifiedWorld, before: list[dict[str, Any]], kind: str) -> None:
    """It is found, then repaired, then right."""
    report = await world.verify()
    assert +report.differences == {kind: 1}
    assert (await world.verify(repairs=True)).counts["repaired"] == 1
    assert (await world.verify()).total == 0
    assert await state(world) == before


async def test_a_summary_that_is_right_has_no_differences() -> None:
    """The rows that are read are those of totals and of contributions."""
    world = await a_world()
    report = await world.verify()
    assert report.total == 0
    assert report.counts["facts"] == report.counts["entries"] == 9
    assert report.counts["rows"] == 9 + len(await rows(world, "0"))


async def test_a_summary_without_sort_parts_is_right_too() -> None:
    """A contribution's row then names its fact and nothing else; a repair takes none away."""
    world = VerifiedWorld(MemoryTables(), TEXT.replace("    sort: town\n", ""))
    await world.create_tables()
    for number in range(9):
        await world.write(f"f{number}", {"country": "US", "spent": number / 10})
    before = await rows(world, "")
    assert (await world.verify(repairs=True, reconciles=True)).total == 0
    assert (await world.sample(9)).total == 0
    assert await rows(world, "") == before


async def test_a_total_with_another_sum_is_made_right() -> None:
    """By counting its contributions again."""
    world = await a_world()
    before = await state(world)
    total = (await rows(world, "0"))[0]
    plain = orjson.loads(total["_json"])
    plain["of"]["spent"][0] = "99.5"
    await world.put_row({**total, "_json": orjson.dumps(plain).decode()})
    await assert_repaired(world, before, "stale")


async def test_a_total_with_another_extreme_is_made_right() -> None:
    """Sums alone would not show it."""
    world = await a_world()
    before = await state(world)
    total = (await rows(world, "0"))[0]
    plain = orjson.loads(total["_json"])
    plain["of"]["spent"][3][0][0][0] = "77"
    await world.put_row({**total, "_json": orjson.dumps(plain).decode()})
    await assert_repaired(world, before, "stale")


async def test_a_total_that_cannot_be_read_is_made_right() -> None:
    """As one with another sum."""
    world = await a_world()
    before = await state(world)
    await world.put_row({**(await rows(world, "0"))[0], "_json": "no json"})
    await assert_repaired(world, before, "stale")


async def test_a_total_that_is_not_there_is_made_again() -> None:
    """First an empty one, so that nothing is written over that comes in between."""
    world = await a_world()
    before = await state(world)
    await world.remove((await rows(world, "0"))[0])
    await assert_repaired(world, before, "missing")


async def test_a_total_without_contributions_goes() -> None:
    """Nothing adds up to it."""
    world = await a_world()
    before = await state(world)
    total = (await rows(world, "0"))[0]
    await world.put_row({**total, "RowKey": "0Z !0"})
    await assert_repaired(world, before, "ghost")


async def test_a_contribution_that_is_not_there_is_written_again() -> None:
    """Its total has lost nothing when the row went: it is right in the end."""
    world = await a_world()
    before = await state(world)
    await world.remove((await rows(world, "1"))[0])
    report = await world.verify(repairs=True)
    assert report.differences["missing"] == 1
    assert (await world.verify()).total == 0
    assert await state(world) == before


@pytest.mark.parametrize("change", [{"_json": '{"elements":3,"of":{"spent":["7",3,"7","7"]}}'}, {"_json": "no json"}])
async def test_a_contribution_with_other_columns_is_written_again(change: dict[str, Any]) -> None:
    """Its total is made right, too, also when it is not known what the row added."""
    world = await a_world()
    before = await state(world)
    await world.put_row({**(await rows(world, "1"))[0], **change})
    await world.verify(repairs=True)
    assert (await world.verify()).total == 0
    assert await state(world) == before


async def test_a_contribution_of_a_fact_that_is_elsewhere_goes() -> None:
    """A ghost, also of a newer version than the ledger has."""
    world = await a_world()
    before = await state(world)
    row = next(row for row in await rows(world, "1") if row["RowKey"].startswith("1A"))
    key = row["RowKey"].replace("1A", "1B")
    await world.put_row({**row, "RowKey": key, "_at": "9" + row["_at"][1:]})
    report = await world.verify(repairs=True)
    assert report.differences["ghost"] == 1
    assert (await world.verify()).total == 0
    assert await state(world) == before
    await world.sweep()
    assert key not in [row["RowKey"] for row in await rows(world, "1")]


async def test_a_change_that_was_not_applied_is_applied() -> None:
    """By the ordinary way."""
    world = await a_world()
    await world.put_fact("f0", {"country": "US", "town": "C", "spent": 50}, 1)
    report = await world.verify(repairs=True)
    assert report.differences["unapplied"] == 1
    assert (await world.verify()).total == 0
    assert any('"5E+1"' in row["_json"] for row in await rows(world, "0"))


async def test_a_row_with_a_strange_key_goes() -> None:
    """No worker writes it."""
    world = await a_world()
    table = world.generation("by-town").table
    await world.tables.transact(table, [Upsert({"PartitionKey": "000 US !", "RowKey": "zzz", "a": 1})])
    assert (await world.verify(repairs=True)).differences["ghost"] == 1
    assert (await world.verify()).total == 0


async def test_rows_that_are_gone_and_forgotten_are_swept() -> None:
    """Their message was lost."""
    world = await a_world()
    await world.apply(world.writer.change("f0", None, 50))
    await world.delete_fact("f0")
    world.queue.messages = []
    report = await world.verify(repairs=True)
    assert report.counts["swept"] == 1
    await world.sweep()
    assert len(await rows(world, "1")) == 8


async def test_a_sample_examines_contributions_and_their_neighbours() -> None:
    """A contribution that is missing is found by its fact."""
    world = await a_world()
    assert (await world.sample(9)).total == 0
    row = (await rows(world, "1"))[0]
    table = world.generation("by-town").table
    await world.tables.transact(table, [Delete(row["PartitionKey"], row["RowKey"])])
    assert (await world.sample(9)).differences["missing"] == 1
