"""Tables that go while changes are in flight: the batch is not acknowledged, and succeeds when it comes back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from shared.catalog.catalog import Catalog
from shared.errors import IncompleteBatchError, TableMissingError
from tests.rooms.pipeline.test_refresh import World
from tests.worlds.world import TOWNS

if TYPE_CHECKING:
    from shared.catalog.rows import CatalogGeneration

FACT: dict[str, Any] = {"id": "a", "town": "X", "name": "a", "phone": "p", "_ts": 100, "_lsn": 1}


async def generation(world: World) -> CatalogGeneration:
    """The one generation that the catalog has."""
    (found,) = (await Catalog(world.tables).read()).generations
    return found


@pytest.mark.parametrize(
    ("table", "document"),
    [("index", FACT), ("Ledger", FACT), ("DeadLetters", "no document")],
    ids=["of the index", "the ledger", "the dead letters"],
)
async def test_a_table_that_is_gone_is_made_again_for_the_redelivery(table: str, document: object) -> None:
    """The first attempt finds it missing and raises; the second finds it there."""
    world = World()
    worker = await world.worker(TOWNS)
    name = (await generation(world)).table if table == "index" else table
    await world.tables.delete_table(name)
    with pytest.raises((IncompleteBatchError, TableMissingError), match=f"{name} is not there"):
        await worker.apply_latest("people", [document])
    await worker.apply_latest("people", [document])
    assert world.tables.store.partition_keys(name)


async def test_a_generation_that_is_retired_in_flight_takes_no_more_changes() -> None:
    """Its table is dropped while a worker still writes to it; the redelivery goes on without it."""
    world = World()
    worker = await world.worker(TOWNS)
    gone = await generation(world)
    await Catalog(world.tables).change(gone.id, lambda generation: replace(generation, state="retired"))
    await world.tables.delete_table(gone.table)
    with pytest.raises(IncompleteBatchError, match=f"{gone.table} is not there"):
        await worker.apply_latest("people", [FACT])
    await worker.apply_latest("people", [FACT])
    with pytest.raises(TableMissingError):
        world.tables.store.partition_keys(gone.table)


async def test_a_generation_that_is_retired_in_flight_gets_no_table_of_a_period_any_more() -> None:
    """Nothing would drop it later; the table of a live generation is created again at once."""
    world = World()
    expire = "expire: {path: until, after: 30d, tables: month}"
    worker = await world.worker(TOWNS.replace("project: [phone]", f"project: [phone], {expire}"))
    gone = await generation(world)
    fact = {**FACT, "until": "2031-01-01T00:00:00Z"}
    await worker.apply_latest("people", [fact])
    assert f"{gone.table}p20310101" in world.tables.store.tables()
    await Catalog(world.tables).change(gone.id, lambda generation: replace(generation, state="retired"))
    for name in await world.tables.list_tables(gone.table):
        await world.tables.delete_table(name)
    with pytest.raises(IncompleteBatchError, match=f"{gone.table} is not there"):
        await worker.apply_latest("people", [{**fact, "phone": "q", "_lsn": 2}])
    await worker.apply_latest("people", [{**fact, "phone": "q", "_lsn": 2}])
    # What the file says has come back, under another name.
    assert not [name for name in await world.tables.list_tables(gone.table) if not name.startswith(f"{gone.table}r2")]
