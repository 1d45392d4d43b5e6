"""Timers and sweeps while an index account is down: they go on in the others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from shared.catalog.catalog import Catalog
from shared.catalog.rows import CatalogGeneration
from shared.errors import StorageUnavailableError
from shared.lifecycle.generations import GenerationLifecycle, LifecycleTimes
from shared.pipeline.cleanup.expiry import ExpiryWalk
from shared.pipeline.cleanup.maintenance import Maintenance
from shared.pipeline.cleanup.messages import Tombstone, from_message
from shared.tasks.rows import TaskRows
from shared.tasks.runner import TaskRunner
from tests.worlds.outages import HOMES, OutageWorld, X, Y

if TYPE_CHECKING:
    from shared.entries.projection.generations import SourcePlan


def places(messages: list[str]) -> list[str]:
    """The accounts of the tombstones that messages name."""
    named = [item for message in messages for item in from_message(message)]
    assert all(isinstance(item, Tombstone) for item in named)
    return sorted(item.place.account for item in named)


async def test_what_cannot_be_swept_is_asked_for_again() -> None:
    """A message that fails a few times would be lost, and its tombstones would stay."""
    world = OutageWorld()
    await world.create_tables()
    await world.apply(world.person("A", "Z"))
    await world.apply(world.person())
    messages, world.queue.messages = world.queue.messages, []
    assert places(messages) == [X, Y]

    async def plans() -> dict[str, SourcePlan]:
        return {"people": world.plan}

    calls = world.services().calls
    maintenance = Maintenance(plans, world.accounts, world.queue, calls, lambda: world.now_seconds, 0, 0)
    world.set_down(X, down=True, believed=False)
    for message in messages:
        await maintenance.sweep(message)
    # What was swept in Y is looked at once more.
    assert places(world.queue.messages) == [X, Y]
    table = world.plan.generations[0].table
    assert (await world.tables[Y].query(table, None)).rows == ()


async def test_the_walk_for_expired_entries_goes_on_in_other_accounts() -> None:
    """And says in the end that one did not answer."""
    world = OutageWorld(HOMES.replace("project: [phone]", "project: [phone]\n    expire: {path: until, after: 1d}"))
    await world.create_tables()
    change = world.writer.change("f", {"homes": ["A", "Z"], "name": "n", "phone": "1", "until": "2020-01-01T00:00:00Z"})
    await world.apply(change)
    world.set_down(X, down=True)
    walk = ExpiryWalk(world.accounts, world.queue, lambda: world.now_seconds, 0)
    with pytest.raises(StorageUnavailableError):
        await walk.walk([world.plan])
    assert [item.place.account for message in world.queue.messages for item in from_message(message)] == [Y]


async def test_tables_of_retired_generations_are_dropped_in_other_accounts() -> None:
    """A generation whose account is down is dropped when that is back."""
    world = OutageWorld()
    await world.create_tables()
    main = world.accounts.main
    catalog, source = Catalog(main), world.definitions.sources["people"]
    index = world.definitions.indexes["by-home"]
    assert index.placement is not None
    there = replace(index, placement=replace(index.placement, slices=index.placement.slices[1:]))
    for name, table, definition in (("g1", "byhome1", index), ("g2", "byhome2", there)):
        await world.tables[Y].create_table(table)
        generation = CatalogGeneration(name, "by-home", table, "retired", definition, source, 0, 0)
        await catalog.write(replace(generation, retired_at=1))
    world.set_down(X, down=True)
    runner = TaskRunner(TaskRows(main), None, {}, lambda: world.now_seconds)
    lifecycle = GenerationLifecycle(
        world.definitions, catalog, runner, LifecycleTimes(lambda: world.now_seconds, 30, 60, 60)
    )
    with pytest.raises(StorageUnavailableError):
        await lifecycle.retire_unwanted(world.accounts)
    dropped = {each.id: each.dropped_at is not None for each in (await catalog.read()).generations}
    assert dropped == {"g1": False, "g2": True}
