"""Changes applied to a Table service: what an outside reader of the tables then sees."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from shared.entries.rows.columns import read_columns
from shared.errors import IncompleteBatchError
from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE
from shared.pipeline.ledger.rows import decode
from shared.tables.port import RowRange
from tests.worlds.world import World, visible

if TYPE_CHECKING:
    from shared.tables.port import Tables

TEXT = """
version: 1
sources:
  SOURCE: {cosmos: {database: d, container: people}, partitionKey: id, deletes: {when: gone}}
indexes:
  by-town: {source: SOURCE, partition: town, sort: name, project: [phone]}
  by-age: {source: SOURCE, partition: team, sort: [{path: age, type: integer}], project: keys}
  by-tag: {source: SOURCE, each: {tag: tags}, partition: tag, project: keys}
  by-home:
    source: SOURCE
    each: {home: homes}
    partition: {path: home.p, name: p}
    sort: [{path: home.s, name: s}]
    project: keys
"""


@pytest.fixture
async def world(service: Tables) -> World:
    """Four indexes on one source of its own."""
    source = f"p{uuid4().hex[:12]}"
    world = World(service, TEXT.replace("SOURCE", source), source)
    await world.create_tables()
    return world


async def seen(world: World, index: str, *partitions: str) -> list[str]:
    """The ids of the facts that a reader sees in these partitions."""
    return [read_columns(row).id for row in visible(await world.rows(index, *(f"{name} !" for name in partitions)))]


def person(**fields: Any) -> dict[str, Any]:
    """A fact that has an entry in the first two indexes."""
    return {"town": "X", "name": "n", "team": "t", "age": 1, **fields}


async def dead_letters(world: World) -> list[dict[str, Any]]:
    """The dead letters of the source."""
    page = await world.tables.query(DEAD_LETTER_TABLE, RowRange(world.plan.source))
    return [row.entity for row in page.rows]


async def test_a_fact_moves_and_goes(world: World) -> None:
    """Insert, key change, delete: each time it is seen exactly where it is."""
    await world.apply(world.writer.change("a", person()))
    assert await seen(world, "by-town", "X", "Y") == ["a"]
    await world.apply(world.writer.change("a", person(town="Y")))
    assert (await seen(world, "by-town", "X"), await seen(world, "by-town", "Y")) == ([], ["a"])
    await world.apply(world.writer.change("a", None))
    assert await seen(world, "by-town", "X", "Y") == []


async def test_the_sweep_leaves_nothing_behind(world: World) -> None:
    """Tombstones and what they hide are gone; what lives stays."""
    await world.apply(world.writer.change("a", person()), world.writer.change("b", person()))
    await world.apply(world.writer.change("a", person(town="Y")), world.writer.change("b", None))
    assert len(await world.rows("by-town", "X !", "Y !")) == 3
    await world.sweep()
    assert [read_columns(row).id for row in await world.rows("by-town", "X !", "Y !")] == ["a"]


async def test_a_multi_valued_fact_gains_and_loses_entries(world: World) -> None:
    """One entry per element."""
    await world.apply(world.writer.change("a", person(tags=["x", "y"])))
    await world.apply(world.writer.change("a", person(tags=["y", "z"])))
    found = [await seen(world, "by-tag", tag) for tag in ("x", "y", "z")]
    assert found == [[], ["a"], ["a"]]


async def test_a_poison_document_delays_nothing_else(world: World) -> None:
    """The good facts land, and the poison one lands in the indexes that it fits."""
    poison = world.writer.change("bad", person(age="old"))
    await world.apply(world.writer.change("a", person()), poison, world.writer.change("b", person()))
    assert sorted(await seen(world, "by-town", "X")) == ["a", "b", "bad"]
    assert sorted(await seen(world, "by-age", "t")) == ["a", "b"]
    (dead_letter,) = await dead_letters(world)
    assert (dead_letter["index"], dead_letter["version"]) == ("by-age", poison.version)
    assert "age" in dead_letter["reason"]


async def test_a_fact_that_fails_loses_its_stale_entry(world: World) -> None:
    """An entry that is known to be wrong is worse than none."""
    await world.apply(world.writer.change("a", person()))
    await world.apply(world.writer.change("a", person(age="old")))
    assert await seen(world, "by-age", "t") == []


async def test_a_redelivered_failure_makes_no_second_dead_letter(world: World) -> None:
    """Also in another process."""
    poison = world.writer.change("a", person(age="old"))
    await world.apply(poison)
    world.restart()
    await world.apply(poison)
    assert len(await dead_letters(world)) == 1


async def test_a_later_success_closes_the_dead_letter(world: World) -> None:
    """The fact fits again."""
    await world.apply(world.writer.change("a", person(age="old")))
    world.restart()
    await world.apply(world.writer.change("a", person(age=2)))
    assert await dead_letters(world) == []
    assert await seen(world, "by-age", "t") == ["a"]


async def test_a_document_that_fits_in_no_row_is_kept_in_a_blob(world: World) -> None:
    """And goes with its dead letter."""
    noise = "".join(uuid4().hex for _ in range(50_000))
    await world.apply(world.writer.change("a", person(age="old", noise=noise)))
    (dead_letter,) = await dead_letters(world)
    assert list(world.blobs.contents) == [dead_letter["blob"]]
    await world.apply(world.writer.change("a", person()))
    assert world.blobs.contents == {}


async def test_over_a_thousand_entries_fail_the_index_with_the_most(world: World) -> None:
    """Decided before the claim; the other indexes go on."""
    await world.apply(world.writer.change("a", person(tags=[f"t{number}" for number in range(999)])))
    assert [dead_letter["index"] for dead_letter in await dead_letters(world)] == ["by-tag"]
    assert await seen(world, "by-town", "X") == ["a"]
    assert await seen(world, "by-tag", "t1") == []


async def test_a_ledger_row_over_the_limit_fails_the_index_with_the_most(world: World) -> None:
    """Long keys that do not compress: 900 of them take more than 900 KiB, which is found out before the claim."""
    chance = Random(5)

    def noise(characters: int) -> str:
        return "".join(chr(0x4E00 + chance.randrange(20_000)) for _ in range(characters))

    await world.apply(world.writer.change("a", person(homes=[{"p": noise(400), "s": noise(180)} for _ in range(900)])))
    (row,) = await world.ledger_rows()
    assert [state.failed for state in decode(row).states.values()].count(True) == 1
    assert [dead_letter["index"] for dead_letter in await dead_letters(world)] == ["by-home"]
    assert await seen(world, "by-town", "X") == ["a"]


async def test_a_large_batch_is_split_below_four_mebibytes(world: World) -> None:
    """A hundred rows of 96 KB each are more than one request takes."""
    changes = [world.writer.change(f"f{number}", person(phone="字" * 32_000)) for number in range(100)]
    await world.apply(*changes)
    assert len(await seen(world, "by-town", "X")) == 100


async def test_parts_of_generations_that_a_worker_does_not_know_are_carried_over(world: World) -> None:
    """A worker with fewer definitions neither loses nor changes them."""
    await world.apply(world.writer.change("a", person(tags=["x"])))
    everything = world.plan
    world.restart()
    world.plan = type(everything)(everything.source, everything.generations[:1])
    await world.apply(world.writer.change("a", person(town="Y")))
    (row,) = await world.ledger_rows()
    assert set(decode(row).states) == {generation.id for generation in everything.generations}


async def test_parts_of_retired_generations_are_dropped(world: World) -> None:
    """Without tombstones: their table goes as a whole."""
    await world.apply(world.writer.change("a", person(tags=["x"])))
    world.queue.messages.clear()
    everything = world.plan
    retired = frozenset(generation.id for generation in everything.generations[1:])
    world.plan = type(everything)(everything.source, everything.generations[:1], retired)
    await world.apply(world.writer.change("a", person(phone="1")))
    (row,) = await world.ledger_rows()
    assert set(decode(row).states) == {everything.generations[0].id}
    assert world.queue.messages == []


async def test_a_batch_with_a_table_that_is_gone_is_not_acknowledged(world: World) -> None:
    """It raises; when the table is back, the same batch succeeds."""
    generation = world.plan.generations[0]
    await world.tables.delete_table(generation.table)
    change = world.writer.change("a", person())
    with pytest.raises(IncompleteBatchError, match="is not there"):
        await world.apply(change)
    await world.tables.create_table(generation.table)
    await world.apply(change)
    assert await seen(world, "by-town", "X") == ["a"]


async def test_an_older_change_with_a_higher_sequence_number_is_counted(world: World) -> None:
    """A clock of the source may have gone back; nothing else would show it."""
    await world.apply(world.writer.change("a", person(), version=5))
    reader = world.writer._reader
    late = reader.change("a", ("a",), f"{1_700_000_001:016d}{9:019d}", {"id": "a", **person()})
    await world.apply(late)
    assert (world.outcome.dropped, world.outcome.dropped_with_higher_lsn) == (1, 1)


async def test_a_filtered_out_fact_is_not_deleted(world: World) -> None:
    """Its ledger row has no time of deletion, a deleted fact's has one."""
    await world.apply(world.writer.change("a", {"nothing": 1}), world.writer.change("b", None))
    rows = {row["RowKey"]: row.get("deletedAt") for row in await world.ledger_rows()}
    assert rows == {"a !a !": None, "b !b !": int(world.now_seconds)}
