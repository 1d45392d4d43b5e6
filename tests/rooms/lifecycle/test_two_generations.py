"""A fact with many entries while its index has two generations: what serves is as if there was one."""

from __future__ import annotations

import json
from random import Random

import pytest

from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.building import BuildingWorld
from tests.worlds.kept_facts import stored

DEFINITIONS = """
version: 1
sources: {people: {cosmos: {database: d, container: people}}}
indexes:
  by-tag: {source: people, each: {tag: tags}, partition: tag, sort: name, project: [PROJECTED]}
"""
OLD = DEFINITIONS.replace("PROJECTED", "phone")
# Their ids are hashes: some sort before that of the old one, some after it.
CHANGED = [DEFINITIONS.replace("PROJECTED", name) for name in ("email", "fax", "age", "town")]


async def entries_by_state(world: BuildingWorld) -> dict[str, int]:
    """How many entries the generation in each state shows."""
    generations = (await world.catalog.read()).generations
    return {listed.state: len(await world.shown(listed.table)) for listed in generations}


async def dead_letter_indexes(world: BuildingWorld) -> list[str]:
    """The indexes that dead letters are of."""
    page = await world.tables.query(DEAD_LETTER_TABLE, None)
    return [str(row.entity["index"]) for row in page.rows]


@pytest.mark.parametrize("changed", CHANGED)
async def test_the_limit_of_entries_counts_an_index_once(changed: str) -> None:
    """600 entries in each of two generations are 600 entries of one index."""
    world = BuildingWorld(MemoryTables())
    tags = [f"t{number}" for number in range(600)]
    await world.write(await world.worker(OLD), "a", tags=tags)
    await world.write(await world.worker(changed), "a", tags=tags, phone="1")
    assert await entries_by_state(world) == {"serving": 600, "building": 600}
    assert await dead_letter_indexes(world) == []


@pytest.mark.parametrize("changed", CHANGED)
async def test_a_ledger_row_that_two_generations_make_too_large_spares_what_serves(changed: str) -> None:
    """Long keys that do not compress: those of one generation fit, those of two do not."""
    world = BuildingWorld(MemoryTables())
    chance = Random(5)
    tags = ["".join(chr(0x4E00 + chance.randrange(20_000)) for _ in range(400)) for _ in range(700)]
    for number, text in enumerate((OLD, changed)):
        # Such a document is too large for the table that stands for the container here.
        document = json.loads(
            str(stored("people", "a", {"name": "a", "tags": tags, "phone": str(number)}, number)["document"])
        )
        await (await world.worker(text)).apply_latest("people", [document])
    assert await entries_by_state(world) == {"serving": 700, "building": 0}
    assert await dead_letter_indexes(world) == ["by-tag"]
