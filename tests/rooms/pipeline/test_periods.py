"""Entries that expire in the same day, week or month share a table, which is dropped whole when its period is over."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import pytest

from shared.catalog.period_tables import drop_expired_tables, tables_of
from shared.errors import StorageUnavailableError
from shared.pipeline.cleanup.expiry import ExpiryWalk
from shared.pipeline.ledger.retention import Retention
from shared.pipeline.ledger.rows import LEDGER_TABLE, decode
from shared.tables.memory.calls import ListTables, Transact
from shared.tables.memory.memory_tables import DirectCarrier, MemoryTables
from shared.tables.port import Delete
from tests.worlds.building import BuildingWorld
from tests.worlds.dated import TEXT, at, found, new_world, periods, person
from tests.worlds.world import nothing_listed, visible

if TYPE_CHECKING:
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store
    from shared.tables.port import Tables
    from tests.worlds.world import World

T = TypeVar("T")

# 2027-01-15T08:00:00Z
NOW_SECONDS = 1_800_000_000
DAY_SECONDS = 86_400
RETENTION_SECONDS = 30 * DAY_SECONDS


@pytest.fixture
async def world(service: Tables) -> World:
    """A source of its own whose entries live for thirty days, in tables per month."""
    return await new_world(service)


async def test_an_entry_that_moves_to_another_period_is_in_one_place(world: World) -> None:
    """There and back, whatever else it changes."""
    for until in ("2027-01-10T00:00:00Z", "2027-02-10T00:00:00Z", None, "2027-01-10T00:00:00Z"):
        await world.apply(world.writer.change("f", person(until)))
        assert await found(world) == ["f"]
    await world.sweep()
    assert await found(world) == ["f"]
    rows = []
    (generation,) = world.plan.generations
    for period in await tables_of(world.accounts, generation):
        rows += [row.entity for row in (await world.tables.query(period.table, None)).rows]
    assert [row["PartitionKey"] for row in rows] == ["20270201 X !"]


async def test_a_period_that_is_over_is_dropped_as_a_whole(world: World) -> None:
    """An hour after its end, in one transaction; the others stay, and no walk looks at anything."""
    await world.apply(
        world.writer.change("january", person("2026-12-20T00:00:00Z")),
        world.writer.change("february", person("2027-01-15T00:00:00Z")),
        world.writer.change("never", person(None)),
    )
    at(world, "2027-02-01T00:59:59")
    assert await drop_expired_tables(world.accounts, [world.plan], world.now_seconds) == 0
    at(world, "2027-02-01T01:00:00")
    assert await ExpiryWalk(world.accounts, world.queue, lambda: world.now_seconds, 0).walk([world.plan]) == 0
    assert await drop_expired_tables(world.accounts, [world.plan], world.now_seconds) == 1
    assert await periods(world) == ["00000000", "20270201"]
    assert sorted(await found(world)) == ["february", "never"]
    assert await drop_expired_tables(world.accounts, [world.plan], world.now_seconds) == 0


async def test_a_late_change_of_a_period_that_is_over_is_no_error_and_makes_no_table(world: World) -> None:
    """It claims its version, so that an older change loses; the same holds for a redelivery."""
    old = world.writer.change("f", person(None))
    late = world.writer.change("f", person("2026-10-01T00:00:00Z"))
    await world.apply(late)
    world.restart()
    await world.apply(late)
    assert world.outcome.dead_letters == 0
    await world.apply(old)
    assert world.outcome.dropped == 1
    assert await periods(world) == ["00000000"]
    assert await found(world) == []
    (row,) = await world.ledger_rows()
    assert row["expiredAt"] == NOW_SECONDS


async def test_entries_of_a_period_that_is_over_are_gone_for_the_next_change(world: World) -> None:
    """It writes no tombstone for them, and the ledger lists them no more."""
    await world.apply(world.writer.change("f", person("2026-12-20T00:00:00Z")))
    at(world, "2027-02-02T00:00:00")
    await drop_expired_tables(world.accounts, [world.plan], world.now_seconds)
    world.restart()
    await world.apply(world.writer.change("f", person("2027-01-20T00:00:00Z")))
    assert world.queue.messages == []
    assert await periods(world) == ["00000000", "20270201"]
    (generation,) = world.plan.generations
    (row,) = await world.ledger_rows()
    state = decode(row).states[generation.id]
    assert ([entry.partition for entry in state.current], state.removed) == (["20270201 X !"], ())
    await world.apply(world.writer.change("f", None))
    assert await found(world) == []


async def test_a_redelivery_after_the_drop_writes_nothing(world: World) -> None:
    """By a worker that knows nothing: the version is the ledger's, and its period is over."""
    change = world.writer.change("f", person("2026-12-20T00:00:00Z"))
    await world.apply(change)
    at(world, "2027-02-02T00:00:00")
    await drop_expired_tables(world.accounts, [world.plan], world.now_seconds)
    world.restart()
    await world.apply(change)
    assert await periods(world) == ["00000000"]


async def test_a_table_that_was_removed_is_made_again_by_the_next_write(world: World) -> None:
    """No batch fails for it."""
    await world.apply(world.writer.change("f", person("2027-01-15T00:00:00Z")))
    (generation,) = world.plan.generations
    await world.tables.delete_table(f"{generation.table}p20270201")
    await world.apply(world.writer.change("f", {**person("2027-01-15T00:00:00Z"), "phone": "2"}))
    assert await found(world) == ["f"]


async def test_removing_a_whole_month_takes_one_transaction() -> None:
    """Row by row it takes four for each entry; the list of tables is one more, however many there are."""
    world = await new_world(MemoryTables())
    for start in range(0, 500, 100):
        people = [world.writer.change(f"{n}", person("2026-12-20T00:00:00Z")) for n in range(start, start + 100)]
        await world.apply(*people)
    at(world, "2027-02-02T00:00:00")
    assert isinstance(world.tables, MemoryTables)
    world.tables.counts.take()
    assert await drop_expired_tables(world.accounts, [world.plan], world.now_seconds) == 1
    assert world.tables.counts.take() == 2


async def clean(world: World) -> set[str]:
    """Run the retention for some days; the facts that the ledger still has."""
    for _ in range(3 * 24):
        world.now_seconds += 3600
        await Retention(world.tables, RETENTION_SECONDS, lambda: world.now_seconds, nothing_listed).clean([world.plan])
    return {str(row["RowKey"]).split(" ")[0] for row in await world.ledger_rows()}


async def test_a_change_of_code_that_does_not_know_a_generation_is_not_forgotten_at_once() -> None:
    """The entries that it left behind were over long ago, but its own removals may not be written yet."""
    undated = "  by-name: {source: SOURCE, partition: name, sort: town, project: [phone]}\n"
    world = await new_world(MemoryTables(), TEXT + undated)
    await world.apply(world.writer.change("f", person("2026-12-20T00:00:00Z")))
    at(world, "2027-04-02T00:00:00")
    whole = world.plan
    unaware = tuple(generation for generation in whole.generations if generation.periods is None)
    world.plan = replace(whole, generations=unaware)
    await world.apply(world.writer.change("f", {"town": "X"}))
    world.plan = whole
    assert await clean(world) == {"f"}


async def test_the_ledger_forgets_facts_whose_entries_have_been_over_for_the_retention(world: World) -> None:
    """Not those that have another entry, live or filtered out; a late one from the time on that it came."""
    await world.apply(
        world.writer.change("january", person("2026-12-20T00:00:00Z")),
        world.writer.change("february", person("2027-01-15T00:00:00Z")),
        world.writer.change("never", person(None)),
        world.writer.change("filtered", {"name": "nobody"}),
    )
    at(world, "2027-02-10T00:00:00")
    await world.apply(world.writer.change("late", person("2026-12-20T00:00:00Z")))
    at(world, "2027-02-27T00:00:00")
    assert await clean(world) == {"january", "february", "never", "filtered", "late"}
    at(world, "2027-03-04T00:00:00")
    assert await clean(world) == {"february", "never", "filtered", "late"}
    at(world, "2027-03-12T00:00:00")
    assert await clean(world) == {"february", "never", "filtered"}
    at(world, "2027-04-02T00:00:00")
    assert await clean(world) == {"never", "filtered"}


async def test_another_index_of_the_fact_keeps_its_ledger_row(world: World) -> None:
    """One whose entries do not expire."""
    text = TEXT + "  by-name: {source: SOURCE, partition: name, project: keys}\n"
    both = await new_world(world.tables, text)
    await both.apply(both.writer.change("f", person("2026-12-20T00:00:00Z")))
    at(both, "2027-04-02T00:00:00")
    assert await clean(both) == {"f"}
    await both.apply(both.writer.change("f", {"until": "2026-12-20T00:00:00Z", "town": "X"}))
    assert visible(await both.rows("by-name", "n !")) == []


class NoLists(DirectCarrier):
    """A service that answers everything but for lists of tables, for a while."""

    is_down = True

    async def carry(self, call: Call[T], store: Store) -> T:
        """The answer, or none."""
        asked: object = call
        if self.is_down and isinstance(asked, ListTables):
            raise StorageUnavailableError("No answer came: try again.", outcome_unknown=False)
        return await super().carry(call, store)


async def test_tables_that_cannot_be_made_ahead_keep_no_change_from_being_applied() -> None:
    """There may be other accounts; a write creates what is missing. The next read of the catalog tries again."""
    carrier = NoLists()
    world = BuildingWorld(MemoryTables(carrier=carrier))
    worker = await world.worker(TEXT.replace("SOURCE", "people"))
    await world.write(worker, "f", **person("2027-01-15T00:00:00Z"))
    assert isinstance(world.tables, MemoryTables)
    (generation,) = (await world.catalog.read()).generations
    made = [name for name in sorted(world.tables.store.tables()) if name.startswith(generation.table)]
    assert made == [generation.table, f"{generation.table}p20270201"]
    carrier.is_down = False
    world.seconds += 60
    await world.write(worker, "f", **person("2027-01-16T00:00:00Z"))
    assert len(await world.tables.list_tables(f"{generation.table}p")) == 3


async def test_a_worker_that_starts_lists_the_tables_of_periods_instead_of_making_each() -> None:
    """A cold start is paid for by every instance."""
    world = BuildingWorld(MemoryTables())
    text = TEXT.replace("SOURCE", "people").replace("after: 30d, tables: month", "after: 30d, tables: day")
    await world.worker(text)
    assert isinstance(world.tables, MemoryTables)
    before = world.tables.counts.by_table_and_kind()
    await world.worker(text)
    after = world.tables.counts.by_table_and_kind()
    (generation,) = (await world.catalog.read()).generations
    on_periods = {key: count - before.get(key, 0) for key, count in after.items() if f"{generation.table}p" in key[0]}
    assert {key: count for key, count in on_periods.items() if count} == {(f"{generation.table}p", "list"): 1}
    assert len(await world.tables.list_tables(f"{generation.table}p")) == 32


class WritesMeanwhile(DirectCarrier):
    """Another worker writes a ledger row in the moment before it is deleted."""

    fact_key = "7 !7 !"

    async def carry(self, call: Call[T], store: Store) -> T:
        """The answer, after the row has another ETag."""
        asked: object = call
        if isinstance(asked, Transact) and asked.table == LEDGER_TABLE:
            for operation in asked.operations:
                if isinstance(operation, Delete) and operation.row == self.fact_key:
                    row = store.get(LEDGER_TABLE, operation.partition, operation.row)
                    assert row is not None
                    store.put((LEDGER_TABLE, operation.partition, operation.row), row.entity)
        return await super().carry(call, store)


async def test_facts_are_forgotten_by_the_hundred_but_for_those_that_are_written_meanwhile() -> None:
    """500 facts in 16 buckets go in 16 transactions, and one more for the bucket in which one has changed."""
    tables = MemoryTables(carrier=WritesMeanwhile())
    world = await new_world(tables)
    await world.apply(*[world.writer.change(f"{n}", person("2026-12-20T00:00:00Z")) for n in range(500)])
    at(world, "2027-04-02T00:00:00")
    before = tables.counts.by_table_and_kind()[LEDGER_TABLE, "transact"]
    retention = Retention(world.tables, RETENTION_SECONDS, lambda: world.now_seconds, nothing_listed)
    assert await retention.clean([world.plan]) == 499
    assert tables.counts.by_table_and_kind()[LEDGER_TABLE, "transact"] - before == 17
    assert [row["RowKey"] for row in await world.ledger_rows()] == ["7 !7 !"]
