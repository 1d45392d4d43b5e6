"""What it costs to build a new generation of an index whose facts were applied before, against writing its rows raw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.cases.building import Building
from bench.cases.facts import customers
from bench.cases.recording import Recorder
from bench.cases.rivals import RAW, storage_serving
from bench.measure.case import Case
from bench.measure.measurement import Bar
from shared.tables.memory.memory_tables import MemoryTables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.cases.facts import Fact
    from bench.cases.recording import Transactions
    from bench.cases.rivals import Storage
    from bench.measure.measurement import Measurement
    from bench.measure.meter import Meter

NAME = "build"
FACTS = 4_000
ROUNDS_MAX = 3
# At least 60 % of the raw loop.
BARS = (Bar(at_most=1 / 0.6, against=RAW),)


async def measure(meter: Meter) -> list[Measurement]:
    """One index with clustered keys."""
    facts = customers(meter.scaled(FACTS))
    async with storage_serving() as storage:
        return [
            await meter.at_most(ROUNDS_MAX).compare(
                "build of an index with clustered keys",
                unit="entry",
                subject=_build(storage, facts),
                yardsticks=[_raw(storage, facts)],
                bars=BARS,
            )
        ]


def _build(storage: Storage, facts: Sequence[Fact]) -> Case:
    state = _State()

    async def prepare() -> None:
        await storage.empty()
        state.building = Building(storage.client, facts)
        await state.building.prepare()

    async def run() -> dict[str, int]:
        sent = storage.client.counts.total()
        progress = await state.building.run()
        return {"entries": progress.counts["entries"], "transactions": storage.client.counts.total() - sent}

    return Case("the build", len(facts), run, prepare)


def _raw(storage: Storage, facts: Sequence[Fact]) -> Case:
    """The rows that the build writes, in full transactions by a bare loop."""
    state = _State()

    async def prepare() -> None:
        await storage.empty()
        building = Building(storage.client, facts)
        await building.prepare()
        state.transactions = await _recorded(facts)

    async def run() -> dict[str, int]:
        await storage.write(state.transactions)
        return {"transactions": len(state.transactions)}

    return Case(RAW, len(facts), run, prepare)


async def _recorded(facts: Sequence[Fact]) -> Transactions:
    recorder = Recorder()
    building = Building(MemoryTables(carrier=recorder), facts)
    await building.prepare()
    recorder.take()
    await building.run()
    return [(table, rows) for table, rows in recorder.take() if table not in ("Catalog", "Tasks")]


class _State:
    """What one round's `prepare` leaves for its `run`."""

    building: Building
    transactions: Transactions
