"""What verifying an index costs per fact, against only reading the same rows, and how much memory it takes."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING

from bench.cases.facts import ONE_INDEX_YAML, customers
from bench.cases.rivals import storage_serving
from bench.cases.verifying import Verifying
from bench.measure.case import Case
from bench.measure.measurement import Gauge
from shared.pipeline.ledger.rows import LEDGER_TABLE
from shared.tables.memory.memory_tables import MemoryTables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.cases.facts import Fact
    from bench.cases.rivals import Storage
    from bench.measure.measurement import Measurement
    from bench.measure.meter import Meter

NAME = "verify"
FACTS = 4_000
# Memory is to be the same for both.
FEW, MANY = 5_000, 20_000
ROUNDS_MAX = 3
TOLERANCE = 0.25
READING = "only reading ledger and table"


async def measure(meter: Meter) -> list[Measurement]:
    """An index without differences, which is what is verified every day."""
    facts = customers(meter.scaled(FACTS))
    async with storage_serving() as storage:
        await storage.empty()
        verifying = Verifying(storage.client, ONE_INDEX_YAML, facts)
        await verifying.prepare()
        measured = await meter.at_most(ROUNDS_MAX).compare(
            "verification of an index without differences",
            unit="fact",
            subject=_verification(storage, verifying, facts),
            yardsticks=[_reading(storage, verifying, facts)],
        )
    gauges = [await _peak(meter.scaled(count)) for count in (FEW, MANY)]
    return [replace(measured, gauges=tuple(gauges))]


def _verification(storage: Storage, verifying: Verifying, facts: Sequence[Fact]) -> Case:
    async def run() -> dict[str, int]:
        sent = storage.client.counts.total()
        report = await verifying.run()
        return {"differences": report.total, "transactions": storage.client.counts.total() - sent}

    return Case("the verification", len(facts), run)


def _reading(storage: Storage, verifying: Verifying, facts: Sequence[Fact]) -> Case:
    """Every page of both tables, decoded and thrown away."""

    async def run() -> dict[str, int]:
        sent = storage.client.counts.total()
        for table in (LEDGER_TABLE, verifying.subject.generation.table):
            continuation = None
            while True:
                page = await storage.client.query(table, None, continuation=continuation)
                continuation = page.continuation
                if continuation is None:
                    break
        return {"transactions": storage.client.counts.total() - sent}

    return Case(READING, len(facts), run)


async def _peak(count: int) -> Gauge:
    """What a verification allocates at most, beside the tables themselves."""
    verifying = Verifying(MemoryTables(), ONE_INDEX_YAML, customers(count))
    await verifying.prepare()
    tracemalloc.start()
    await verifying.run()
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return Gauge(f"peak memory of a verification of {count} facts", "MB", peak_bytes / 1e6, tolerance=TOLERANCE)
