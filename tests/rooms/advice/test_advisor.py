"""The advisor looks at what serves each index, and at nothing else."""

from __future__ import annotations

from dataclasses import replace

from shared.advice.advisor import Advisor, AdvisorDependencies
from shared.advice.sampling import Sampler
from shared.definitions.model import Placement
from shared.monitoring.counters import Totals
from shared.monitoring.prices import read_prices
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.building import BuildingWorld
from tests.worlds.world import TOWNS, definitions_of


async def totals() -> Totals:
    """Nothing was counted."""
    return Totals()


def advisor(world: BuildingWorld) -> Advisor:
    """What an app with the world's storage advises with."""
    dependencies = AdvisorDependencies(
        world.catalog,
        Sampler(world.accounts, lambda: world.seconds),
        totals,
        read_prices(),
        lambda: world.seconds,
    )
    return Advisor(definitions_of(TOWNS), dependencies)


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
