"""Dead letters are closed when they are no longer due, in whatever order workers come, and never while they are."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import pytest

from shared.entries.projection.generations import plan_of
from shared.entries.projection.projector import Projector
from shared.entries.rows.entry_row import is_tombstone
from shared.errors import IncompleteBatchError, StorageUnavailableError
from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE
from shared.tables.memory.calls import Transact
from shared.tables.memory.memory_tables import DirectCarrier, MemoryTables
from shared.tables.port import Delete, Insert
from tests.worlds.dead_letters import dead_letters_of, refusing, replay_all
from tests.worlds.world import World, definitions_of, visible

if TYPE_CHECKING:
    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import Generation, SourcePlan
    from shared.entries.projection.projector import Entry
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store
    from shared.tables.port import Tables

T = TypeVar("T")

TEXT = """
version: 1
sources:
  people: {cosmos: {database: d, container: people}, partitionKey: id}
indexes:
  by-town: {source: people, partition: town, sort: name, project: [phone]}
  by-age: {source: people, partition: town, sort: [{path: age, type: integer}], project: keys}
"""
PERSON: dict[str, Any] = {"town": "X", "name": "n", "phone": "1", "age": 7}
POISON = {**PERSON, "age": "old"}


class StoppedWrites(DirectCarrier):
    """Refuses to write entries when it is told to."""

    is_stopped = False

    async def carry(self, call: Call[T], store: Store) -> T:
        """The answer, or none."""
        asked: object = call
        if self.is_stopped and isinstance(asked, Transact) and asked.table.startswith("by"):
            raise StorageUnavailableError("Storage is gone: try again.", outcome_unknown=False)
        return await super().carry(call, store)


class LeavingOut(Projector):
    """Code that leaves out what other code indexed."""

    def project(self, change: Change) -> tuple[Entry, ...]:
        """Nothing."""
        return ()


@pytest.fixture
async def world(service: Tables) -> World:
    """A source of its own."""
    source = f"p{uuid4().hex[:12]}"
    world = World(service, TEXT.replace("people", source), source)
    await world.create_tables()
    return world


async def test_a_newer_version_that_fits_closes_the_dead_letter(world: World) -> None:
    """Without a replay."""
    await world.apply(world.writer.change("f", POISON))
    assert len(await dead_letters_of(world)) == 1
    await world.apply(world.writer.change("f", PERSON))
    assert await dead_letters_of(world) == []


async def test_a_dead_letter_that_came_late_is_closed_when_its_batch_comes_again(world: World) -> None:
    """Its worker was overtaken, put it, and ended before it looked at the ledger again. By then the old version may be
    coalesced with newer ones that are finished."""
    poison, fitting, newest = (
        world.writer.change("f", document) for document in (POISON, PERSON, {**PERSON, "phone": "2"})
    )
    await world.apply(poison)
    (late,) = await dead_letters_of(world)
    row = await world.tables.get(DEAD_LETTER_TABLE, late.source, late.id)
    assert row is not None
    await world.apply(fitting)
    await world.apply(newest)
    await world.tables.transact(DEAD_LETTER_TABLE, [Insert(dict(row.entity))])
    assert len(await dead_letters_of(world)) == 1
    await world.apply(poison, fitting, newest)
    assert await dead_letters_of(world) == []


async def test_code_with_a_fault_leaves_the_dead_letter_to_the_worker_that_writes_the_entries(world: World) -> None:
    """Other code has claimed the version again and may not have written it: the dead letter is the only trace of the
    change."""
    change = world.writer.change("1", PERSON)
    sound = world.plan
    world.plan = refusing(sound, world.definitions)
    await world.apply(change)
    lettered = {dead_letter.index for dead_letter in await dead_letters_of(world)}
    assert lettered == set(world.definitions.indexes)
    world.restart()
    world.plan = sound
    await world.apply(change)
    assert await dead_letters_of(world) == []
    world.restart()
    world.plan = refusing(sound, world.definitions)
    await world.apply(change)
    assert {dead_letter.index for dead_letter in await dead_letters_of(world)} == lettered
    assert {replayed.result for replayed in await replay_all(world)} == {"stillFails"}
    world.restart()
    world.plan = sound
    await world.apply(world.writer.change("1", PERSON))
    assert await dead_letters_of(world) == []


async def test_the_dead_letter_of_a_newer_version_stays_until_its_rows_are_written() -> None:
    """A worker that has finished the version before it says nothing about it. The replay ended before its rows were
    written, and the dead letter is the only trace of the change."""
    carrier = StoppedWrites()
    world = World(MemoryTables(carrier=carrier), TEXT, "people")
    await world.create_tables()
    sound, faulty = world.plan, refusing(world.plan, world.definitions)
    first, second, third = (world.writer.change("f", {**PERSON, "phone": phone}) for phone in "123")
    world.plan = faulty
    await world.apply(first)
    world.plan = sound
    await world.apply(second)
    other = copy(world)
    other.restart()
    other.plan = faulty
    await other.apply(third)
    other.plan = sound
    carrier.is_stopped = True
    with pytest.raises(IncompleteBatchError):
        await replay_all(other)
    carrier.is_stopped = False
    assert len(await dead_letters_of(world)) == 2
    await world.apply(second)
    assert len(await dead_letters_of(world)) == 2
    await replay_all(other)
    assert await dead_letters_of(world) == []
    assert [row["phone"] for row in visible(await world.rows("by-town", "X !"))] == ["3"]


async def test_code_that_projects_less_hides_what_a_failed_state_had(world: World) -> None:
    """Three versions of the code see one change: it fits, it fails, it has no entry."""
    change = world.writer.change("f", PERSON)
    sound = world.plan
    await world.apply(change)
    world.restart()
    world.plan = refusing(sound, world.definitions)
    await world.apply(change)
    world.restart()
    source = world.definitions.sources[sound.source]
    leaving_out = [
        replace(generation, projector=LeavingOut(generation.index, source)) for generation in sound.generations
    ]
    world.plan = replace(sound, generations=tuple(leaving_out))
    await world.apply(change)
    assert visible(await world.rows("by-town", "X !")) == []
    assert await dead_letters_of(world) == []


@pytest.mark.parametrize("crashes", [False, True])
async def test_a_row_just_above_its_version_can_be_hidden(world: World, *, crashes: bool) -> None:
    """Code that failed, fitted, failed again and now leaves the entry out, all at one version; also if that one dies
    between its claim and its tombstone."""
    change = world.writer.change("f", PERSON)
    sound, faulty = world.plan, refusing(world.plan, world.definitions)
    source = world.definitions.sources[sound.source]
    leaving_out = [
        replace(generation, projector=LeavingOut(generation.index, source)) for generation in sound.generations
    ]
    for plan in (faulty, sound, faulty, replace(sound, generations=tuple(leaving_out))):
        world.restart()
        world.plan = plan
        await world.apply(change)
    if crashes:
        for row in await world.rows("by-town", "X !"):
            if is_tombstone(row):
                await world.tables.transact(table_of(world, "by-town"), [Delete(row["PartitionKey"], row["RowKey"])])
        world.restart()
        await world.apply(change)
    assert visible(await world.rows("by-town", "X !")) == []
    await world.sweep()
    assert await world.rows("by-town", "X !") == []
    await world.apply(world.writer.change("f", {**PERSON, "phone": "2"}))
    world.plan = sound
    await world.apply(world.writer.change("f", {**PERSON, "phone": "3"}))
    assert [row["phone"] for row in visible(await world.rows("by-town", "X !"))] == ["3"]


async def test_a_success_in_the_next_generation_closes_the_dead_letter_of_a_retired_one(world: World) -> None:
    """The state that failed is gone with its generation."""
    poison = world.writer.change("f", POISON)
    await world.apply(poison)
    failed, kept = split(world.plan, "by-age")
    fixed = definitions_of(TEXT.replace("people", world.plan.source).replace("{path: age, type: integer}", "age"))
    (new,), _ = split(plan_of(fixed, world.plan.source), "by-age")
    await world.tables.create_table(new.table)
    known = {generation.id: generation.index.name for generation in (*failed, *kept, new)}
    world.restart()
    world.plan = replace(world.plan, generations=(new,), indexes=known)  # its build
    await world.apply(poison)
    assert len(await dead_letters_of(world)) == 1
    world.restart()
    retired = frozenset(generation.id for generation in failed)
    world.plan = replace(world.plan, generations=(*kept, new), retired=retired)
    await world.apply(world.writer.change("f", {**POISON, "phone": "2"}))
    assert await dead_letters_of(world) == []


async def test_states_of_other_indexes_keep_no_dead_letter_of_a_build_open(world: World) -> None:
    """A build knows one generation only; the others of its source are in the catalog."""
    change = world.writer.change("f", PERSON)
    whole = replace(world.plan, indexes={generation.id: generation.index.name for generation in world.plan.generations})
    built, live = split(whole, "by-town")
    world.plan = replace(whole, generations=live)
    await world.apply(change)
    world.restart()
    world.plan = refusing(replace(whole, generations=built), world.definitions)
    await world.apply(change)
    assert len(await dead_letters_of(world)) == 1
    world.restart()
    world.plan = replace(whole, generations=built)
    await world.apply(change)
    assert len(visible(await world.rows("by-town", "X !"))) == 1
    assert await dead_letters_of(world) == []


def split(plan: SourcePlan, index: str) -> tuple[tuple[Generation, ...], tuple[Generation, ...]]:
    """The generations of an index, and the others."""
    chosen = tuple(generation for generation in plan.generations if generation.index.name == index)
    return chosen, tuple(generation for generation in plan.generations if generation not in chosen)


def table_of(world: World, index: str) -> str:
    """The table of an index."""
    return next(generation.table for generation in world.plan.generations if generation.index.name == index)
