"""A flood of changes that do not fit: it costs little, fills no storage, and no dead letter of it stops a batch."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from shared.errors import IncompleteBatchError, OperationFailedError, RequestRefusedError, StorageUnavailableError
from shared.pipeline.concurrency import AtOnce
from shared.pipeline.dead_letters.open_limit import OpenLimit
from shared.pipeline.dead_letters.orphans import YOUNG_SECONDS, OrphanedBlobs
from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE, REASON_CHARACTERS_MAX
from shared.tables.counts import Counts
from shared.tables.memory.calls import Transact
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import Delete
from tests.worlds.dead_letters import dead_letters_of, replay_all, results
from tests.worlds.world import World

if TYPE_CHECKING:
    from shared.tables.memory.memory_tables import Carrier
    from shared.tables.memory.store import Store
    from shared.tables.port import Tables


TEXT = """
version: 1
sources: {SOURCE: {cosmos: {database: d, container: people}, partitionKey: id}}
indexes:
  by-age: {source: SOURCE, partition: town, sort: [{path: age, type: integer}], project: keys}
  by-size: {source: SOURCE, partition: town, sort: [{path: size, type: integer}], project: keys}
  by-sum: {source: SOURCE, partition: town, sort: [{path: 'abs(age)', name: sum}], project: keys}
"""
POISON: dict[str, Any] = {"town": "X", "age": "old", "size": "big"}
LONG = "0123456789" * 1000
# More than fits in a row, also when it is compressed.
NOISE = Random(5).randbytes(900_000).hex()


def world_on(tables: Tables, limit: OpenLimit | None = None) -> World:
    """A source of its own."""
    source = f"p{uuid4().hex[:12]}"
    return World(tables, TEXT.replace("SOURCE", source), source, dead_letter_limit=limit)


@pytest.fixture
async def world(service: Tables) -> World:
    """Three indexes."""
    world = world_on(service)
    await world.create_tables()
    return world


async def in_memory(carrier: Carrier | None = None, limit: OpenLimit | None = None) -> World:
    """A world in memory."""
    world = world_on(MemoryTables(carrier=carrier, counts=Counts()), limit)
    await world.create_tables()
    return world


class Failing:
    """Answers writes of dead letters with an error, before or after they are carried out."""

    def __init__(self, error: Exception, *, is_carried_out: bool = False, times: int = 1) -> None:
        self.error = error
        self.is_carried_out = is_carried_out
        self.times = times

    async def carry(self, call: Any, store: Store) -> Any:
        if not (isinstance(call, Transact) and call.table == DEAD_LETTER_TABLE and self.times):
            return call.perform(store)
        self.times -= 1
        if self.is_carried_out:
            call.perform(store)
        raise self.error


@pytest.mark.parametrize("size", [300_000, 400_000, 700_000, 1_000_000])
async def test_a_document_of_any_size_is_kept_and_replayed(world: World, size: int) -> None:
    """Azurite takes less than Azure in a row: it counts bytes in Base64. So a large document is in a blob early."""
    await world.apply(world.writer.change("a", {**POISON, "noise": Random(size).randbytes(size).hex()}))
    assert results(await replay_all(world)) == ["stillFails"] * 3


async def test_a_fact_with_an_endless_id_does_not_stop_the_batch(world: World) -> None:
    """Its dead letters are kept in their smallest form, which has the document but cannot be replayed."""
    fact = "x" * 600_000
    await world.apply(world.writer.change(fact, POISON), world.writer.change("b", POISON))
    letters = await dead_letters_of(world)
    assert Counter(letter.fact_id for letter in letters) == {None: 3, "b": 3}
    assert len(world.blobs.contents) == 3
    assert results(await replay_all(world)) == ["refused"] * 3 + ["stillFails"] * 3
    await world.apply(world.writer.change(fact, None))
    assert [letter.fact_id for letter in await dead_letters_of(world)] == ["b"] * 3
    assert world.blobs.contents == {}


@pytest.mark.parametrize("age", [LONG, {"a": LONG}, [LONG], "\ud800" * 5000, "\x00\n" * 500, 10**4000])
async def test_a_reason_is_short_and_printable_and_has_little_of_the_fact(world: World, age: object) -> None:
    """At most 80 characters of the value that does not fit, whatever repeats it."""
    await world.apply(world.writer.change("a", {"town": LONG, "age": age, "size": age}))
    letters = await dead_letters_of(world)
    assert {letter.index for letter in letters} == {"by-age", "by-size", "by-sum"}
    for letter in letters:
        assert len(letter.reason) <= REASON_CHARACTERS_MAX
        assert letter.reason.isprintable()
        assert LONG[:81] not in letter.reason
        assert "age" in letter.reason or "size" in letter.reason or "abs()" in letter.reason


async def test_a_flood_costs_three_transactions_per_document(world: World) -> None:
    """The ledger is read before and after; three dead letters of each are put together with those of others. When the
    documents come again, each dead letter is read as well."""
    counts: Counts = world.tables.counts  # type: ignore[attr-defined]
    world.applier._claimer.insert_or_read.observe(existing=10, absent=0)
    first = [world.writer.change(f"f{number}", POISON) for number in range(120)]
    again = [world.writer.change(f"f{number}", {**POISON, "n": 1}) for number in range(120)]
    for changes, most in ((first, 3), (first, 3 + 3.2), (again, 3 + 3)):
        before = counts.total()
        await world.apply(*changes)
        assert counts.total() - before <= most * len(changes)
    assert len(await dead_letters_of(world)) == 3 * 120


async def test_one_dead_letter_that_is_refused_does_not_hold_up_the_others() -> None:
    """Storage refuses it in its full form, alone and together with others."""

    class Refusing:
        async def carry(self, call: Any, store: Store) -> Any:
            if isinstance(call, Transact) and call.table == DEAD_LETTER_TABLE:
                for operation in call.operations:
                    if not isinstance(operation, Delete) and '"f7"' in str(operation.entity.get("_fact")):
                        raise RequestRefusedError("The entity is larger than it may be.")
            return call.perform(store)

    world = await in_memory(Refusing())
    await world.apply(*[world.writer.change(f"f{number}", POISON) for number in range(10)])
    letters = await dead_letters_of(world)
    assert Counter(letter.fact_id for letter in letters) == {f"f{n}": 3 for n in range(10) if n != 7} | {None: 3}


async def test_a_dead_letter_that_is_refused_in_every_form_leaves_no_blob() -> None:
    """The batch comes again then, and would leave one each time."""
    world = await in_memory(Failing(RequestRefusedError("No."), times=1000))
    with pytest.raises(IncompleteBatchError, match=r"No\."):
        await world.apply(world.writer.change("a", {**POISON, "noise": NOISE}))
    assert world.blobs.contents == {}


async def test_a_blob_stays_while_its_dead_letter_may_still_be_written() -> None:
    """After a request without an answer. When the batch comes again it has another; the timer removes the one without
    use, a day later."""
    world = await in_memory(Failing(StorageUnavailableError("No answer.", outcome_unknown=True)))
    change = world.writer.change("a", {**POISON, "noise": NOISE})
    with pytest.raises(IncompleteBatchError):
        await world.apply(change)
    assert len(world.blobs.contents) == 3
    world.restart()
    await world.apply(change)
    assert len(world.blobs.contents) == 6
    assert await orphaned(world).remove() == 0
    world.now_seconds += YOUNG_SECONDS
    assert await orphaned(world).remove() == 3
    assert results(await replay_all(world)) == ["stillFails"] * 3


async def test_a_refusal_without_doubt_leaves_no_blob() -> None:
    """The request was not carried out."""
    world = await in_memory(Failing(StorageUnavailableError("Busy.", outcome_unknown=False)))
    with pytest.raises(IncompleteBatchError):
        await world.apply(world.writer.change("a", {**POISON, "noise": NOISE}))
    assert world.blobs.contents == {}


async def test_a_dead_letter_that_was_written_without_an_answer_keeps_its_blob() -> None:
    """The request was sent again, and finds what it wrote itself."""
    error = OperationFailedError(DEAD_LETTER_TABLE, 0, "exists", resent=True)
    world = await in_memory(Failing(error, is_carried_out=True))
    await world.apply(world.writer.change("a", {**POISON, "noise": NOISE}))
    assert len(world.blobs.contents) == 3
    assert results(await replay_all(world)) == ["stillFails"] * 3


async def test_blobs_without_use_are_found_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Among those of other dead letters, of one that is gone, and of what is none of ours."""
    monkeypatch.setattr("shared.pipeline.dead_letters.orphans.BLOBS_PER_RUN", 2)
    world = await in_memory()
    await world.apply(world.writer.change("a", {**POISON, "noise": NOISE}))
    kept = {*world.blobs.contents, "readme.txt"}
    for name in (*kept, *[f"{name}0" for name in kept if name != "readme.txt"], f"{world.plan.source}/0/unreadable/1"):
        world.blobs.contents[name] = b""
    world.now_seconds += YOUNG_SECONDS
    removed = [await orphaned(world).remove() for _ in range(4)]
    assert sum(removed) == 4
    assert max(removed) <= 2
    assert {*world.blobs.contents} == kept


async def test_an_index_has_only_so_many_dead_letters_open() -> None:
    """Those beyond are counted. The facts are not in the index; those that have a dead letter keep it up to date."""
    world = await in_memory(limit=OpenLimit(5))
    await world.apply(*[world.writer.change(f"f{number}", POISON) for number in range(8)])
    assert (world.outcome.dead_letters, world.outcome.dead_letters_not_kept) == (24, 9)
    await world.apply(world.writer.change("g", {**POISON, "size": 1}))
    assert world.outcome.dead_letters_not_kept == 2
    letters = await dead_letters_of(world)
    assert Counter(letter.index for letter in letters) == {"by-age": 5, "by-size": 5, "by-sum": 5}
    newer = {letter.fact_id for letter in letters if letter.index == "by-age"}
    await world.apply(*[world.writer.change(str(fact), {**POISON, "n": 2}) for fact in newer])
    assert {letter.version for letter in letters}.isdisjoint({each.version for each in await dead_letters_of(world)})


async def test_there_is_room_again_when_dead_letters_are_closed() -> None:
    """Within a minute."""
    world = await in_memory(limit=OpenLimit(5))
    await world.apply(*[world.writer.change(f"f{number}", POISON) for number in range(8)])
    await world.apply(*[world.writer.change(f"f{number}", {"town": "X", "age": 1, "size": 1}) for number in range(8)])
    assert await dead_letters_of(world) == []
    world.now_seconds += 60
    await world.apply(*[world.writer.change(f"g{number}", POISON) for number in range(4)])
    assert world.outcome.dead_letters_not_kept == 0
    assert len(await dead_letters_of(world)) == 12


def orphaned(world: World) -> OrphanedBlobs:
    """What the timer calls."""
    return OrphanedBlobs(world.tables, world.blobs, AtOnce(), lambda: world.now_seconds)
