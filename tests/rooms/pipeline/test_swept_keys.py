"""Ledger rows lose the keys that a fact had when these are swept: not earlier, and never keys that are needed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.entries.keys.versions import next_version
from shared.entries.projection.generations import place_of
from shared.entries.rows.entry_row import tombstone_row
from shared.entries.summaries.rows import CONTRIBUTIONS, gone_row
from shared.errors import IncompleteBatchError, StorageUnavailableError
from shared.pipeline.cleanup.messages import Tombstone, from_message, to_messages
from shared.pipeline.cleanup.swept_keys import announce_listed
from shared.pipeline.ledger.retention import Retention
from shared.pipeline.ledger.rows import LEDGER_TABLE, OwedShare, RemovedEntry, decode, encode
from shared.pipeline.summaries.sweeping import ANY_ETAG, GoneContribution
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import PARTITION_KEY, ROW_KEY, Delete, Upsert
from tests.worlds.world import TOWNS, World

if TYPE_CHECKING:
    from shared.entries.changes.change import Change
    from shared.pipeline.ledger.rows import GenerationState
    from shared.tables.port import Entity

SUMMARY = TOWNS.replace("project: [phone]", "summarize: {people: facts}")


async def a_world(text: str = TOWNS) -> World:
    world = World(MemoryTables(), text)
    await world.create_tables()
    return world


def living_in(world: World, town: str) -> Change:
    """A new version of the only fact."""
    return world.writer.change("f", {"town": town, "name": "n", "phone": "1"})


async def state(world: World) -> GenerationState:
    """What the ledger says of it."""
    (entity,) = await world.ledger_rows()
    (found,) = decode(entity).states.values()
    return found


async def write_state(world: World, changed: GenerationState) -> None:
    """Say it differently."""
    (entity,) = await world.ledger_rows()
    row = decode(entity)
    states = dict.fromkeys(row.states, changed)
    written = encode(replace(row, states=states), entity[PARTITION_KEY], entity[ROW_KEY])
    await world.tables.transact(LEDGER_TABLE, [Upsert(written)])


async def contribution(world: World) -> Entity:
    """The row of the only fact in its group "A"."""
    rows = await world.rows(world.plan.generations[0].index.name, "A !")
    (found,) = [row for row in rows if row[ROW_KEY].startswith(CONTRIBUTIONS)]
    return found


def tombstone(world: World, partition: str, entry_key: str, version: str) -> Tombstone:
    return Tombstone(place_of(world.plan.generations[0], partition), entry_key, version)


async def test_a_key_that_a_fact_left_is_forgotten_with_the_sweep() -> None:
    """And looked at once more."""
    world = await a_world()
    await world.apply(living_in(world, "A"))
    await world.apply(living_in(world, "B"))
    assert [old.partition for old in (await state(world)).removed] == ["A !"]
    await world.sweep()
    assert (await state(world)).removed == ()
    assert len(world.queue.messages) == 1
    await world.sweep()
    assert world.queue.messages == []


async def test_the_message_of_an_older_tombstone_forgets_nothing() -> None:
    """The key was left once more since, and that tombstone may not be written yet."""
    world = await a_world()
    await world.apply(living_in(world, "A"))
    await world.apply(living_in(world, "B"))
    (first,) = world.queue.messages
    await world.apply(living_in(world, "A"))
    await world.apply(living_in(world, "B"))
    world.queue.messages = [first]
    await world.sweep()
    assert [old.partition for old in (await state(world)).removed] == ["A !"]


async def test_a_state_that_was_replayed_keeps_its_keys() -> None:
    """The next replay has to go above all of them, where no late tombstone can hide it."""
    world = await a_world()
    await world.apply(living_in(world, "A"))
    await world.apply(living_in(world, "B"))
    before = await state(world)
    (old,) = before.removed
    above = RemovedEntry("C !", old.entry_key, next_version(before.version))
    await write_state(world, replace(before, removed=(old, above)))
    await world.swept_keys.forget([world.plan], [tombstone(world, "A !", old.entry_key, before.version)])
    assert len((await state(world)).removed) == 2


async def test_a_share_that_is_owed_keeps_its_keys() -> None:
    """Its tombstones are yet to be written."""
    world = await a_world()
    await world.apply(living_in(world, "A"))
    await world.apply(living_in(world, "B"))
    before = await state(world)
    (old,) = before.removed
    await write_state(world, replace(before, owed=(OwedShare(DEFAULT_ACCOUNT, old.version, False, 1),)))
    await world.swept_keys.forget([world.plan], [tombstone(world, "A !", old.entry_key, before.version)])
    assert (await state(world)).removed == (old,)


@pytest.mark.parametrize("text", [TOWNS, SUMMARY], ids=["entries", "summary"])
async def test_what_a_worker_writes_after_the_key_was_forgotten_goes_with_the_second_look(text: str) -> None:
    """It had read the ledger row before, and ends before it announces its tombstone."""
    world = await a_world(text)
    await world.apply(living_in(world, "A"))
    await world.apply(living_in(world, "B"))
    now = await state(world)
    (old,) = now.removed
    await world.sweep()
    make = tombstone_row if text == TOWNS else partial(gone_row, lane=0)
    row = make(old.partition, old.entry_key, now.version)
    await world.tables.transact(world.plan.generations[0].table, [Upsert(row)])
    await world.sweep()
    assert await world.rows(world.plan.generations[0].index.name, "A !") == []


async def test_a_second_look_leaves_a_contribution_that_is_gone_since_another_version() -> None:
    """That version has a message of its own."""
    world = await a_world(SUMMARY)
    await world.apply(living_in(world, "A"))
    await world.apply(living_in(world, "B"))
    now = await state(world)
    (old,) = now.removed
    place = place_of(world.plan.generations[0], old.partition)
    look = GoneContribution(place, old.entry_key, next_version(now.version), ANY_ETAG)
    assert await world.sweeper.contributions.sweep([look]) == []
    look = look._replace(version=now.version)
    assert await world.sweeper.contributions.sweep([look]) == [look]


async def test_a_key_is_kept_while_a_row_is_there_that_its_tombstone_has_to_hide() -> None:
    """The worker that announced the tombstone ended before it wrote it: its batch comes again, and needs the key."""
    world = await a_world()
    await world.apply(living_in(world, "A"))
    (live,) = await world.rows("by-town", "A !")
    moved = living_in(world, "B")
    await world.apply(moved)
    (gone,) = await world.rows("by-town", "A !")
    (generation,) = world.plan.generations
    await world.tables.transact(generation.table, [Upsert(live), Delete("A !", gone[ROW_KEY])])
    await world.sweep()
    assert [old.partition for old in (await state(world)).removed] == ["A !"]
    world.restart()
    await world.apply(moved)
    await world.sweep()
    await world.sweep()
    assert await world.rows("by-town", "A !") == []
    assert (await state(world)).removed == ()


async def test_a_key_is_kept_while_a_contribution_is_there_that_has_to_go() -> None:
    """Its message was lost with the worker, and retention has sent another one."""
    world = await a_world(SUMMARY)
    await world.apply(living_in(world, "A"))
    (generation,) = world.plan.generations
    before = await contribution(world)
    await world.apply(living_in(world, "B"))
    now = await state(world)
    (old,) = now.removed
    await world.tables.transact(generation.table, [Upsert(before)])
    look = GoneContribution(place_of(generation, old.partition), old.entry_key, now.version, ANY_ETAG)
    world.queue.messages = list(to_messages([look]))
    await world.sweep()
    assert (await state(world)).removed == (old,)


async def test_keys_that_a_claim_forgets_are_announced_before_it() -> None:
    """Otherwise a worker that ends right after its claim leaves their tombstones for ever."""
    world = await a_world()
    world.plan = replace(world.plan, removed_max=0)
    await world.apply(living_in(world, "A"))
    await world.apply(living_in(world, "B"))
    world.restart()
    claimed = (await state(world)).version

    async def refuse(message: str) -> None:
        raise StorageUnavailableError("The queue does not answer.", outcome_unknown=True)

    world.queue.send = refuse  # type: ignore[method-assign]
    with pytest.raises(IncompleteBatchError):
        await world.apply(living_in(world, "C"))
    assert (await state(world)).version == claimed


async def test_a_fact_is_not_forgotten_while_keys_of_it_are_not_swept() -> None:
    """Its message was lost; it is sent again, and the next round forgets the fact."""
    world = await a_world()
    await world.apply(living_in(world, "A"))
    await world.apply(world.writer.change("f", None))
    world.queue.messages = []
    world.now_seconds += 1000
    retention = Retention(world.tables, 10, lambda: world.now_seconds, partial(announce_listed, world.queue))
    assert await retention.clean([world.plan]) == 0
    (message,) = world.queue.messages
    assert [type(each) for each in from_message(message)] == [Tombstone]
    await world.sweep()
    world.now_seconds += 100_000
    assert await retention.clean([world.plan]) == 1
