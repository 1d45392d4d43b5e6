"""Repair of a fact whose ledger row has another change of the very transaction that wrote the document."""

from __future__ import annotations

import pytest

from shared.entries.changes.cosmos_changes import CosmosReader
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import Upsert
from tests.worlds.all_versions import ALL_VERSIONS, delete, upsert
from tests.worlds.kept_facts import FACT_TABLE, stored
from tests.worlds.people import found, repaired
from tests.worlds.verifying import VerifiedWorld
from tests.worlds.world import visible

LSN = 9
OTHERS = {
    "a delete": [delete("f", LSN)],
    "a delete after an entry": [upsert("f", "0", 6), delete("f", LSN)],
    **{f"replacement {number}": [upsert("f", f"other{number}", LSN)] for number in range(8)},
    "a replacement in another town": [upsert("f", "other", LSN, town="B")],
}


async def wrong_world(name: str) -> VerifiedWorld:
    """The container has phone `right`, as of a transaction of which a worker has applied another item."""
    world = VerifiedWorld(MemoryTables(), ALL_VERSIONS)
    await world.create_tables()
    reader = CosmosReader(world.definitions.sources["people"])
    for item in OTHERS[name]:
        await world.apply(reader.all_versions(item))
    document = {"town": "A", "name": "n", "phone": "right"}
    await world.tables.transact(FACT_TABLE, [Upsert(stored("people", "f", document, LSN, LSN // 3))])
    return world


async def phones(world: VerifiedWorld) -> list[str]:
    return [row["phone"] for row in visible(await world.rows("by-town", "A !", "B !"))]


@pytest.mark.parametrize("name", OTHERS)
async def test_the_document_of_the_container_wins(name: str) -> None:
    """It is what the transaction has left; a redelivery of the other item brings nothing back."""
    world = await wrong_world(name)
    assert found(await world.verify())
    assert "unapplied" in await repaired(world)
    assert await phones(world) == ["right"]
    reader = CosmosReader(world.definitions.sources["people"])
    await world.apply(*[reader.all_versions(item) for item in OTHERS[name]])
    assert await phones(world) == ["right"]


@pytest.mark.parametrize("name", OTHERS)
async def test_the_next_change_wins_over_the_repair(name: str) -> None:
    """The version of the repair is before any that follows."""
    world = await wrong_world(name)
    await repaired(world)
    reader = CosmosReader(world.definitions.sources["people"])
    await world.apply(reader.all_versions(upsert("f", "next", LSN + 1)))
    assert await phones(world) == ["next"]


@pytest.mark.parametrize("name", OTHERS)
async def test_a_fact_that_is_gone_after_its_repair_is_reconciled(name: str) -> None:
    """The delete comes after the version of the repair."""
    world = await wrong_world(name)
    await repaired(world)
    await world.delete_fact("f")
    assert await repaired(world, reconciles=True, repairs=True) == {"orphan": 1}
    assert await phones(world) == []
