"""The life of a summary: built beside live changes, switched to and rolled back, as any index."""

from __future__ import annotations

from decimal import Decimal

import orjson

from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import RowRange
from tests.worlds.building import BuildingWorld, built
from tests.worlds.world import TOWNS

SUMMARY = TOWNS.replace("sort: name, project: [phone]", "summarize: {people: facts, spent: {sum: spent}}")
OTHER = SUMMARY.replace("spent: {sum: spent}", "most: {max: spent}, spent: {sum: spent}")


async def totals(world: BuildingWorld, generation: str) -> dict[str, tuple[int, Decimal]]:
    """Facts and sum of each town, as stored."""
    table = next(each.table for each in (await world.catalog.read()).generations if each.id == generation)
    found = {}
    for town in "st":
        for row in (await world.tables.query(table, RowRange(f"{town} !", "0", "1"))).rows:
            plain = orjson.loads(str(row.entity["_json"]))
            found[town] = (plain["facts"], Decimal(plain["of"]["spent"][0]))
    return found


async def test_an_index_becomes_a_summary_beside_live_changes() -> None:
    """Its build brings the old facts, workers bring the new ones, and each counts once."""
    world = BuildingWorld(MemoryTables())
    old = await world.worker(TOWNS)
    for number in range(10):
        await world.write(old, f"f{number}", town="st"[number % 2], spent=number / 10)
    new = await world.worker(SUMMARY)
    await world.write(new, "f0", town="t", spent=0.5)
    await world.write(new, "f1", town="t", spent=7)
    await world.write(new, "f1", town="s", spent=0.1)
    await built(world, SUMMARY)
    generation = (await world.generations())["standby"]
    assert await totals(world, generation) == {"s": (5, Decimal("2.1")), "t": (5, Decimal("2.9"))}
    served = await world.lifecycle(SUMMARY).switch("by-town")
    assert served.serving == generation


async def test_the_summary_that_served_before_stays_right_for_a_rollback() -> None:
    """It gets every change after the switch, too."""
    world = BuildingWorld(MemoryTables())
    worker = await world.worker(SUMMARY)
    for number in range(4):
        await world.write(worker, f"f{number}", town="t", spent=0.1)
    other = await world.worker(OTHER)
    await built(world, OTHER)
    served = await world.lifecycle(OTHER).switch("by-town")
    world.seconds = served.since
    await world.write(other, "f0", town="s", spent=0.2)
    back = await world.lifecycle(OTHER).rollback("by-town")
    wanted = {"s": (1, Decimal("0.2")), "t": (3, Decimal("0.3"))}
    assert await totals(world, str(back.serving)) == wanted
    assert await totals(world, served.serving) == wanted
