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

COUNTS = HOMES.replace("    sort: name\n    project: [phone]", "    summarize: {people: facts}")


class HalfDead(Wire):
    """Refuses writes to one partition, and never answers those to another."""

    async def carry(self, call: Call[Any], store: Store) -> Any:
        if self.is_down and isinstance(call, Transact):
            partition, _ = key_of(call.operations[0])
            if partition == "B !":
                await asyncio.Event().wait()
            raise StorageUnavailableError("Out of order.", outcome_unknown=False)
        return call.perform(store)


class HastyWorld(OutageWorld):
    """Its workers wait for an account for a moment only."""

    def services(self) -> Services:
        services = super().services()
        assert services.lanes is not None
        return replace(services, lanes=AccountLanes(services.run_all, time.monotonic, patience_seconds=0.02))


async def test_a_group_without_an_answer_is_owed_beside_one_that_fails() -> None:
    """One fact is in both groups: its failure in one says nothing about the other facts of the second."""
    world = HastyWorld(COUNTS)
    wire = HalfDead()
    world.wires[X] = world.tables[X]._carrier = wire
    await world.create_tables()
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
