"""Summaries in an account that fails in the middle of a batch: what may not have been written is owed."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.errors import StorageUnavailableError
from shared.pipeline.account_calls import AccountLanes
from shared.tables.memory.calls import Transact
from shared.tables.port import RowRange, Upsert, key_of
from tests.worlds.kept_facts import FACT_TABLE, stored_change
from tests.worlds.outages import HOMES, OutageWorld, Wire, X

if TYPE_CHECKING:
    from shared.pipeline.apply.services import Services
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store

COUNTS = HOMES.replace("    sort: name\n    project: [phone]", "    summarize: {people: facts, spent: {sum: spent}}")


class HalfDead(Wire):
    """Refuses writes to one partition, and never answers those to another."""

    async def carry(self, call: Call[Any], store: Store) -> Any:
        if self.is_down and isinstance(call, Transact):
            partition, _ = key_of(call.operations[0])
            if partition == "B !":
                await asyncio.Event().wait()
            raise StorageUnavailableError("Out of order.", outcome_unknown=False)
        return call.perform(store)


class Mute(Wire):
    """Does what it is told, and gives no answer."""

    async def carry(self, call: Call[Any], store: Store) -> Any:
        answer = call.perform(store)
        if self.is_down and isinstance(call, Transact):
            await asyncio.Event().wait()
        return answer


class HastyWorld(OutageWorld):
    """Its workers wait for an account for a moment only."""

    def services(self) -> Services:
        services = super().services()
        assert services.lanes is not None
        return replace(services, lanes=AccountLanes(services.run_all, time.monotonic, patience_seconds=0.02))


async def a_world(wire: Wire) -> tuple[HastyWorld, Wire]:
    """With such a way to the account of homes from A to L."""
    world = HastyWorld(COUNTS)
    world.wires[X] = world.tables[X]._carrier = wire
    await world.create_tables()
    return world, wire


async def test_a_group_without_an_answer_is_owed_beside_one_that_fails() -> None:
    """One fact is in both groups: its failure in one says nothing about the other facts of the second."""
    world, wire = await a_world(HalfDead())
    both = world.writer.change("f", {"homes": ["A", "B"]})
    second = world.writer.change("g", {"homes": ["B"]})
    for change in (both, second):
        await world.tables[DEFAULT_ACCOUNT].transact(FACT_TABLE, [Upsert(stored_change(change))])
    wire.is_down = True
    await world.applier.apply(world.plan, [both, second])
    wire.is_down = False
    await world.deliver()
    (table,) = {generation.table for generation in world.plan.generations}
    (total,) = (await world.tables[X].query(table, RowRange("B !", "0", "1"))).rows
    assert orjson.loads(str(total.entity["_json"]))["facts"] == 2


async def test_rows_whose_writes_were_not_waited_for_are_read_again() -> None:
    """They may be as they were before, or not: what is known of them costs a transaction for each."""
    world, wire = await a_world(Mute())
    owing = []
    for spent in (1, 2, 3):
        wire.is_down = spent == 2
        changes = [world.writer.change(f"f{number}", {"homes": ["A"], "spent": spent}) for number in range(60)]
        owing.append((await world.applier.apply(world.plan, changes)).owing)
    assert owing == [0, 60, 0]
