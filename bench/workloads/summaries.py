"""What keeping a summary costs: bulk load and steady updates against raw transactions, and workers on one hot group."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from bench.cases.facts import SUMMARY_YAML, customer, customers
from bench.cases.pipeline import Pipeline
from bench.cases.rivals import RAW, Scenario, pipeline_case, raw_case, storage_serving
from bench.cases.slow_tables import Slow
from bench.measure.case import Case
from bench.measure.measurement import Bar, Gauge
from shared.tables.memory.memory_tables import MemoryTables

if TYPE_CHECKING:
    from bench.cases.facts import Fact
    from bench.cases.rivals import Storage
    from bench.measure.measurement import Measurement
    from bench.measure.meter import Meter

NAME: Final = "summaries"
FACTS: Final = 2_000
ROUNDS_MAX: Final = 3
WORKERS: Final = 4
BATCHES: Final = 6
# As many contributions as go into one transaction beside their total.
BATCH: Final = 90
# So long that waiting decides, and not this machine's processors, on which all workers of the bench are.
SERVICE_SECONDS: Final = 0.05
SEPARATE: Final = "groups of their own"

BULK = Scenario("bulk load into a summary of 8 groups", customers, yaml=SUMMARY_YAML)
STEADY = Scenario(
    "steady updates of a summary", partial(customers, version=1, spend=99.5), before=customers, yaml=SUMMARY_YAML
)


async def measure(meter: Meter) -> list[Measurement]:
    """Bulk load and updates on Azurite; then four workers behind a service whose calls overlap."""
    async with storage_serving() as storage:
        measured = [
            await _against_raw(meter.at_most(ROUNDS_MAX), storage, BULK, transactions_max=0.06),
            await _against_raw(meter.at_most(ROUNDS_MAX), storage, STEADY, transactions_max=0.1),
        ]
    return [*measured, await _hot_group(meter.at_most(ROUNDS_MAX))]


async def _against_raw(meter: Meter, storage: Storage, scenario: Scenario, *, transactions_max: float) -> Measurement:
    count = meter.scaled(FACTS)
    measured = await meter.compare(
        scenario.name,
        unit="change",
        subject=pipeline_case(storage, scenario, count),
        yardsticks=[raw_case(storage, scenario, count)],
        bars=[Bar(at_most=1.5, against=RAW)],
    )
    sent = measured.subject.counts["transactions"] / count
    return replace(measured, gauges=(Gauge("storage", "transactions per change", sent, at_most=transactions_max),))


async def _hot_group(meter: Meter) -> Measurement:
    batch = meter.scaled(BATCH)
    return await meter.compare(
        "four workers on one hot group",
        unit="change",
        subject=_workers_case("one group", batch, is_hot=True),
        yardsticks=[_workers_case(SEPARATE, batch, is_hot=False)],
        bars=[Bar(at_most=1 / 0.8, against=SEPARATE)],
    )


def _workers_case(name: str, batch: int, *, is_hot: bool) -> Case:
    """Workers at the same time, each with batches of new facts."""
    workers: list[Pipeline] = []

    async def prepare() -> None:
        slow = Slow(SERVICE_SECONDS)
        tables = MemoryTables(carrier=slow)
        workers[:] = [Pipeline(SUMMARY_YAML, tables) for _ in range(WORKERS)]
        for worker in workers:
            await worker.prepare()
        slow.is_on = True

    async def run() -> None:
        await asyncio.gather(
            *[
                worker.apply(_facts(number, BATCHES * batch, is_hot=is_hot), batch)
                for number, worker in enumerate(workers)
            ]
        )

    return Case(name, WORKERS * BATCHES * batch, run, prepare)


def _facts(worker: int, count: int, *, is_hot: bool) -> list[Fact]:
    town = "hot" if is_hot else f"own {worker}"
    return [customer(worker * count + number, town=town) for number in range(count)]
