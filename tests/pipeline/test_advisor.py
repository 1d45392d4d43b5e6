"""The advisor looks at what serves each index, and at nothing else."""

from __future__ import annotations

from dataclasses import replace

from shared.definitions.model import Placement
from shared.operations.advisor import Advisor, Sources
from shared.operations.counters import Totals
from shared.operations.sampling import Sampler
from shared.prices import read_prices
from shared.tables.memory import MemoryTables
from tests.pipeline.building import BuildingWorld
from tests.pipeline.world import TOWNS, definitions_of


async def totals() -> Totals:
    """Nothing was counted."""
    return Totals()


def advisor(world: BuildingWorld) -> Advisor:
    """What an app with the world's storage advises with."""
    sources = Sources(
        world.catalog,
        Sampler(world.accounts, lambda: world.seconds),
        totals,
        read_prices(),
        lambda: world.seconds,
    )
    return Advisor(definitions_of(TOWNS), sources)


async def test_a_generation_that_awaits_its_end_on_an_account_that_has_gone_is_left_alone() -> None:
    """The index that serves gets its advice all the same."""
    world = BuildingWorld(MemoryTables())
    await world.write(await world.worker(TOWNS), "a", town="t")
    (serving,) = (await world.catalog.read()).generations
    far = replace(serving.definition, name="gone", placement=Placement("hash", ("SOUTH",)))
    unwanted = replace(serving, id="0", index="gone", definition=far, unwanted_at=int(world.seconds), etag=None)
    assert await world.catalog.write(unwanted)
    (advised,) = (await advisor(world).report())["indexes"]
    assert (advised["generation"], advised["statistics"]["entries"]) == (serving.id, 1)
