"""Single lines of the protocol, each with the situation in which it matters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from shared.entries.keys.index_keys import row_key
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.entries.projection.generations import place_of
from shared.entries.projection.project_all import project_all
from shared.entries.rows.entry_row import is_tombstone, live_row, tombstone_row
from shared.errors import IncompleteBatchError, StorageUnavailableError
from shared.pipeline.account_calls import calls_by
from shared.pipeline.apply.decide import decide
from shared.pipeline.cleanup.expiry import ExpiryWalk
from shared.pipeline.cleanup.messages import Tombstone
from shared.pipeline.cleanup.sweeper import Sweeper
from shared.pipeline.concurrency import AtOnce
from shared.pipeline.entry_writes.entry_writer import EntryWriter
from shared.pipeline.entry_writes.writes import GenerationWrites, LiveWrite
from shared.pipeline.ledger.cache import KnownRow, LedgerCache
from shared.pipeline.ledger.retention import Retention
from shared.pipeline.ledger.rows import (
    LEDGER_TABLE,
    CurrentEntry,
    GenerationState,
    LedgerRow,
    bucket_partition,
    decode,
    encode,
)
from shared.pipeline.ledger.shares import ShareKey
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import RowRange, Upsert
from tests.worlds.world import World, nothing_listed, visible

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store

T = TypeVar("T")
LONG_AGO = 1_000
PERSON = {"town": "X", "name": "n", "phone": "1"}
EXPIRING = """
version: 1
sources: {people: {cosmos: {database: d, container: people}, partitionKey: id}}
indexes:
  by-town: {source: people, partition: town, project: keys, expire: {path: until, after: 1d}}
  by-nick: {source: people, partition: nick, project: keys}
"""


class Wire:
    """Performs calls, but for what a test does before or after the next one that it waits for."""

    def __init__(self) -> None:
        self.is_awaited: Callable[[Call[Any]], bool] = lambda _: False
        self.before: Callable[[], Awaitable[None]] | None = None
        self.answer_lost = False
        self.refused = False

    async def carry(self, call: Call[T], store: Store) -> T:
        if not self.is_awaited(call):
            return call.perform(store)
        self.is_awaited = lambda _: False
        if self.refused:
            raise StorageUnavailableError("The account is down.", outcome_unknown=False)
        if self.before is not None:
            await self.before()
        answer = call.perform(store)
        if self.answer_lost:
            raise StorageUnavailableError("No answer.", outcome_unknown=True)
        return answer


@pytest.fixture
def wire() -> Wire:
    """The way to storage."""
    return Wire()


@pytest.fixture
async def world(wire: Wire) -> World:
    """One index by town."""
    world = World(MemoryTables(carrier=wire))
    await world.create_tables()
    return world


def known_with(world: World, row: LedgerRow, *, finished: bool = False) -> KnownRow:
    """A ledger row that was read."""
    (generation,) = world.plan.generations
    return KnownRow(row, "etag", frozenset([ShareKey(generation.id, DEFAULT_ACCOUNT)] if finished else []))


async def put_ledger_row(world: World, fact: str, row: LedgerRow) -> None:
    """A ledger row as other workers left it."""
    key = world.writer.change(fact, PERSON).fact_key
    await world.tables.transact(LEDGER_TABLE, [Upsert(encode(row, bucket_partition(world.plan.source, 0), key))])


def test_writes_are_finished_only_for_the_claim_that_they_belong_to() -> None:
    """Another batch of this process has claimed a newer version meanwhile."""
    cache, key = LedgerCache(), ("people-000", "a !a !")
    cache.put(key, KnownRow(LedgerRow(), "newer"))
    cache.mark_finished(key, "older", frozenset([ShareKey("g", "a")]))
    known = cache.get(key)
    assert known is not None
    assert known.finished == frozenset()


async def test_a_row_whose_claim_got_no_answer_is_not_claimed_from_the_cache(world: World, wire: Wire) -> None:
    """The claim may have landed: the next batch reads the row instead of losing against itself."""
    assert isinstance(world.tables, MemoryTables)
    await world.apply(world.writer.change("a", PERSON))
    world.applier._claimer.insert_or_read.observe(existing=1000, absent=0)  # as where most facts are known
    second = world.writer.change("a", {**PERSON, "phone": "2"})
    wire.is_awaited, wire.answer_lost = lambda call: call.table == LEDGER_TABLE and call.kind == "transact", True
    with pytest.raises(IncompleteBatchError):
        await world.apply(second)
    before = world.tables.counts.by_table_and_kind().get((LEDGER_TABLE, "transact"), 0)
    await world.apply(second)
    assert world.tables.counts.by_table_and_kind()[LEDGER_TABLE, "transact"] == before
    assert [row["phone"] for row in visible(await world.rows("by-town", "X !"))] == ["2"]


async def test_of_two_versions_in_one_batch_the_newer_is_applied(world: World) -> None:
    """In whatever order they come."""
    older, newer = world.writer.change("a", PERSON), world.writer.change("a", {**PERSON, "phone": "2"})
    await world.apply(newer, older)
    assert [row["phone"] for row in visible(await world.rows("by-town", "X !"))] == ["2"]


async def test_a_batch_whose_sweep_message_was_not_sent_comes_again(world: World) -> None:
    """Its tombstones would stay for ever."""

    class Refusing:
        async def send(self, message: str) -> None:
            raise StorageUnavailableError("The queue is down.", outcome_unknown=False)

    await world.apply(world.writer.change("a", PERSON))
    world.queue.send = Refusing().send  # type: ignore[method-assign]
    with pytest.raises(IncompleteBatchError):
        await world.apply(world.writer.change("a", {**PERSON, "town": "Y"}))


async def test_old_entries_stay_while_new_ones_could_not_be_written(world: World, wire: Wire) -> None:
    """The fact is found in its old town until it is in the new one."""
    await world.apply(world.writer.change("a", PERSON))
    wire.is_awaited, wire.refused = lambda call: call.kind == "transact" and call.table.startswith("bytown"), True
    with pytest.raises(IncompleteBatchError):
        await world.apply(world.writer.change("a", {**PERSON, "town": "Y"}))
    assert len(visible(await world.rows("by-town", "X !"))) == 1


async def redeliver(world: World, version: str) -> list[tuple[str, bool]]:
    """Write a live row at a version, as a redelivery that does not know which rows there are; the rows after it."""
    (generation,) = world.plan.generations
    write = LiveWrite("X !", "n !a !a !", version, {"phone": "1"}, None)
    writer = EntryWriter(world.accounts, calls_by(AtOnce()))
    assert not await writer.write([("a", GenerationWrites(generation, version, (write,), (), must_list=True))])
    return [(row["RowKey"], is_tombstone(row)) for row in await world.rows("by-town", "X !")]


VERSIONS = [world_version * 35 + "0" * 9 for world_version in ("1", "2")]


async def test_a_redelivery_writes_no_row_below_a_newer_one(world: World) -> None:
    """It would come to light when the newer one is replaced."""
    older, newer = VERSIONS
    (generation,) = world.plan.generations
    await world.tables.transact(generation.table, [Upsert(live_row("X !", "n !a !a !", newer, {"phone": "2"}))])
    assert await redeliver(world, older) == [(row_key("n !a !a !", newer), False)]


async def test_a_tombstone_of_the_same_version_is_not_the_row_that_a_redelivery_writes(world: World) -> None:
    """The entry would stay hidden."""
    (generation,) = world.plan.generations
    await world.tables.transact(generation.table, [Upsert(tombstone_row("X !", "n !a !a !", VERSIONS[0]))])
    assert await redeliver(world, VERSIONS[0]) == [(row_key("n !a !a !", VERSIONS[0]), False)]


async def test_a_generation_that_is_about_to_be_written_is_not_finished(world: World) -> None:
    """It was, at the version before."""
    first, second = world.writer.change("a", PERSON), world.writer.change("a", {**PERSON, "phone": "2"})
    (generation,) = world.plan.generations
    row = LedgerRow({generation.id: GenerationState(first.version)}, "e1")
    decision = decide(second, project_all(second, world.plan), known_with(world, row, finished=True), world.plan, 0)
    assert decision.writes
    assert decision.still_finished == frozenset()


async def test_an_older_change_leaves_the_etag_of_the_newest_version(world: World) -> None:
    """A build brings an older page to a new generation: `sees` and repair go by the newest document."""
    older, newer = world.writer.change("a", PERSON), world.writer.change("a", {**PERSON, "phone": "2"})
    row = LedgerRow({"another": GenerationState(newer.version)}, newer.source_etag)
    decision = decide(older, project_all(older, world.plan), known_with(world, row), world.plan, 0)
    assert decision.claim is not None
    assert decision.claim.source_etag == newer.source_etag


async def test_a_fact_that_comes_back_is_not_deleted_any_more(world: World) -> None:
    """Retention would forget it."""
    first, second = world.writer.change("a", None), world.writer.change("a", PERSON)
    (generation,) = world.plan.generations
    row = LedgerRow({generation.id: GenerationState(first.version)}, "e1", deleted_at_seconds=LONG_AGO)
    decision = decide(second, project_all(second, world.plan), known_with(world, row), world.plan, 0)
    assert decision.claim is not None
    assert decision.claim.deleted_at_seconds is None


async def test_a_row_that_changes_while_it_is_swept_stays(world: World, wire: Wire) -> None:
    """A replay writes the live row where the tombstone stood."""
    (generation,) = world.plan.generations
    version = VERSIONS[0]
    await world.tables.transact(generation.table, [Upsert(tombstone_row("X !", "n !a !a !", version))])

    async def replay() -> None:
        await world.tables.transact(generation.table, [Upsert(live_row("X !", "n !a !a !", version, {"phone": "1"}))])

    wire.is_awaited, wire.before = lambda call: call.kind == "transact", replay
    tombstone = Tombstone(place_of(generation, "X !"), "n !a !a !", version)
    assert await Sweeper(world.accounts, AtOnce()).sweep([tombstone]) == []
    assert len(visible(await world.rows("by-town", "X !"))) == 1


@pytest.mark.parametrize("is_known", [True, False], ids=["of a generation of the plan", "of an unknown generation"])
async def test_a_deleted_fact_with_entries_is_remembered(world: World, is_known: bool) -> None:
    """A generation that has not applied the delete still shows them."""
    (generation,) = world.plan.generations
    version = world.writer.change("a", PERSON).version
    state = GenerationState(version, (CurrentEntry("X !", "n !a !a !", version, "d"),))
    states = {generation.id if is_known else "unknown": state}
    await put_ledger_row(world, "a", LedgerRow(states, "e1", deleted_at_seconds=LONG_AGO))
    assert await Retention(world.tables, 10, lambda: world.now_seconds, nothing_listed).clean([world.plan]) == 0


async def test_a_fact_with_another_entry_has_not_expired() -> None:
    """Retention forgets facts whose last entry expired."""
    world = World(MemoryTables(), EXPIRING)
    await world.create_tables()
    await world.apply(world.writer.change("a", {"town": "X", "nick": "N", "until": "2027-01-10T00:00:00Z"}))
    world.now_seconds += 30 * 86_400
    await ExpiryWalk(world.accounts, world.queue, lambda: world.now_seconds, 60).walk([world.plan])
    await world.sweep()
    assert await world.rows("by-town", "X !") == []
    (row,) = [decode(entity) for entity in await world.ledger_rows()]
    assert row.expired_at_seconds is None


async def test_the_partition_of_a_ledger_row_is_the_bucket_that_these_tests_use(world: World) -> None:
    """So that rows put by hand are found."""
    await put_ledger_row(world, "a", LedgerRow({}, "e1", deleted_at_seconds=LONG_AGO))
    page = await world.tables.query(LEDGER_TABLE, RowRange(bucket_partition(world.plan.source, 0)))
    assert len(page.rows) == 1
    assert await Retention(world.tables, 10, lambda: world.now_seconds, nothing_listed).clean([world.plan]) == 1
