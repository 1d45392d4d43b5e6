"""Tables per period in the life of a generation: made when it is built, dropped when they are over or it is retired."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pytest

from shared.errors import StorageUnavailableError
from shared.tables.memory.calls import DeleteTable, ListTables, Query
from shared.tables.memory.memory_tables import DirectCarrier, MemoryTables
from tests.worlds.building import BUILD_DELAY_SECONDS, CHANGED, GRACE_SECONDS, BuildingWorld, built
from tests.worlds.world import TOWNS

if TYPE_CHECKING:
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store

T = TypeVar("T")

DATED = TOWNS.replace("project: [phone]", "project: [phone], expire: {path: until, after: 30d, tables: month}")


async def test_the_tables_of_its_periods_go_with_a_generation() -> None:
    """Those of the near future, which a worker makes before they are needed, and any other."""
    world = BuildingWorld(MemoryTables())
    parts = await world.parts(DATED)
    (old,) = (await world.catalog.read()).generations
    near = [f"{old.table}p{start}" for start in ("20270101", "20270201", "20270301")]
    assert list(await world.tables.list_tables(old.table)) == [old.table, *near]
    await world.write(parts.worker, "a", town="t", phone="1", until="2040-01-01T00:00:00Z")
    world.seconds += 31 * 86_400
    await parts.maintenance.find_expired()
    made = [f"{old.table}p{start}" for start in ("20270401", "20400101")]
    assert list(await world.tables.list_tables(old.table)) == [old.table, *near[1:], *made]
    await world.worker(CHANGED)
    await built(world)
    await world.lifecycle(CHANGED).switch("by-town")
    lifecycle = world.lifecycle(CHANGED)
    for seconds in (GRACE_SECONDS + 1, BUILD_DELAY_SECONDS + 1):
        world.seconds += seconds
        await lifecycle.retire_unwanted(world.accounts)
    assert await world.tables.list_tables(old.table) == ()


class DeletedTables(DirectCarrier):
    """Remembers which tables were deleted, and when they were listed, in order."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def carry(self, call: Call[T], store: Store) -> T:
        """The answer of the store."""
        asked: object = call
        if isinstance(asked, DeleteTable):
            self.seen.append(asked.table)
        elif isinstance(asked, ListTables):
            self.seen.append("list")
        return await super().carry(call, store)


class NoQueries(DirectCarrier):
    """Answers no query of tables whose names begin like this."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    async def carry(self, call: Call[T], store: Store) -> T:
        """The answer, or none."""
        asked: object = call
        if isinstance(asked, Query) and asked.table.startswith(self._prefix):
            raise StorageUnavailableError("No answer came: try again.", outcome_unknown=False)
        return await super().carry(call, store)


async def test_the_own_table_of_a_generation_goes_before_its_periods_are_listed() -> None:
    """A late write makes no table for a period without it, so that none is left behind."""
    carrier = DeletedTables()
    world = BuildingWorld(MemoryTables(carrier=carrier))
    worker = await world.worker(DATED)
    (old,) = (await world.catalog.read()).generations
    await world.write(worker, "a", town="t", phone="1", until="2040-01-01T00:00:00Z")
    await world.worker(CHANGED)
    await built(world)
    await world.lifecycle(CHANGED).switch("by-town")
    carrier.seen.clear()
    for seconds in (GRACE_SECONDS + 1, BUILD_DELAY_SECONDS + 1):
        world.seconds += seconds
        await world.lifecycle(CHANGED).retire_unwanted(world.accounts)
    assert carrier.seen[:2] == [old.table, "list"]
    assert all(name.startswith(f"{old.table}p") for name in carrier.seen[2:])


async def test_a_walk_that_storage_stops_does_not_keep_periods_from_being_dropped() -> None:
    """They may be in another account."""
    world = BuildingWorld(MemoryTables(carrier=NoQueries("fading")))
    parts = await world.parts(
        f"{DATED}  fading: {{source: people, partition: town, expire: {{path: at, after: 1d}}}}\n"
    )
    await world.write(parts.worker, "a", town="t", phone="1", until="2026-12-20T00:00:00Z")
    dated = next(
        generation.table for generation in (await world.catalog.read()).generations if generation.index == "by-town"
    )
    assert f"{dated}p20270101" in await world.tables.list_tables(dated)
    world.seconds += 31 * 86_400
    with pytest.raises(StorageUnavailableError):
        await parts.maintenance.find_expired()
    assert f"{dated}p20270101" not in await world.tables.list_tables(dated)


async def test_a_build_makes_the_tables_of_the_periods_that_it_needs() -> None:
    """For years to come; what is over is not built."""
    world = BuildingWorld(MemoryTables())
    worker = await world.worker(TOWNS)
    for fact, until in (("a", "2040-01-01"), ("b", "2020-01-01"), ("c", None), ("d", "2027-01-02")):
        await world.write(worker, fact, town="t", phone=fact, until=until)
    await world.worker(DATED)
    assert (await world.build(DATED)).task.state == "done"
    new = (await world.catalog.read()).generation((await world.generations())["standby"])
    assert new is not None
    filled = [name for name in await world.tables.list_tables(new.table) if (await world.tables.query(name, None)).rows]
    assert filled == [new.table, f"{new.table}p20270201", f"{new.table}p20400101"]
    assert f"{new.table}p20200101" not in await world.tables.list_tables(new.table)
