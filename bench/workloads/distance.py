"""What changes and lookups take when every call takes as long as in Azure, against the same calls without a limit."""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bench.cases.distant_tables import (
    UNLIMITED,
    Distance,
    DistantService,
    carrier_to,
    new_limiter,
    tables_of,
)
from bench.cases.facts import CUSTOMERS_YAML, Fact, customer, scattered
from bench.cases.pipeline import Pipeline
from bench.measure.case import Case
from bench.measure.measurement import Bar, Gauge, Measurement
from shared.definitions.loading.load import load
from shared.inputs.page_tokens import PageTokens
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.tables.limiter.calls import Priority
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.memory.store import Store
from shared.tables.port import RowRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.cases.distant_tables import DistantCarrier
    from bench.measure.meter import Meter
    from shared.definitions.model import Source
    from shared.entries.keys.fact_key import FactKeyValue

NAME: Final = "distance"
CHANGES: Final = 600
BATCHES: Final = 5
SMALL_BATCH: Final = 100
LOOKUPS: Final = 100
ROUNDS_MAX: Final = 3
IDEAL, FIXED, ONE_CALL = "without a limit", "16 at once", "one call"
YARDSTICKS: Final = {IDEAL: UNLIMITED, FIXED: 16}
NEAR: Final = Distance()
LOOKUP_FACTS: Final = 160
LOOKUP_YAML: Final = """
version: 1
sources: {customers: {cosmos: {database: shop, container: customers}, partitionKey: customerId}}
indexes:
  by-town: {source: customers, partition: town, sort: [lastName, firstName], project: [phone, email]}
  by-town-sharded: {source: customers, partition: town, sort: lastName, project: [phone, email], shards: 16}
"""
TOWN: Final = {"town": "town 3", "maxpagesize": "20"}
READINGS: Final = (
    ("point", "by-town", {"town": "town 3", "lastName": "name 0003", "firstName": "Zoë"}, 1.15),
    ("20 rows", "by-town", TOWN, 1.15),
    ("20 rows of 16 shards", "by-town-sharded", TOWN, 1.6),
    ("20 rows with their facts", "by-town", {**TOWN, "expand": "fact"}, None),
)


async def measure(meter: Meter) -> list[Measurement]:
    """Writing, throttling, and lookups, at 10 ms per call."""
    few = meter.at_most(ROUNDS_MAX)
    return [
        await _updates(few),
        await _small_batches(few),
        await _throttled(few),
        *[await _lookup(few, *reading) for reading in READINGS],
        await _lookups_beside_writes(few.once()),
    ]


class Updates:
    """Scattered updates by a worker that knows none of the facts: it starts cold, with a limiter of its own."""

    def __init__(self, count: int, calls: int | None, distance: Distance = NEAR) -> None:
        self._count, self._calls, self._distance = count, calls, distance
        self.service = DistantService(distance)
        self.pipeline: Pipeline
        self.store = Store()
        self.carrier: DistantCarrier

    async def prepare(self) -> None:
        """Write the first version at once, and start a worker that is far away."""
        self.store = Store()
        near = Pipeline(CUSTOMERS_YAML, MemoryTables(self.store))
        await near.prepare()
        await near.apply(scattered(self._count))
        self.service = DistantService(self._distance)
        self.carrier = carrier_to(self.service, new_limiter(self._calls))
        self.pipeline = Pipeline(CUSTOMERS_YAML, tables_of(self.store, self.carrier))
        await self.pipeline.prepare()

    def changes(self) -> list[Fact]:
        """The next version of every fact, at the same keys."""
        return scattered(self._count, 1, phone="+1 425 555 0199")


def _case(name: str, count: int, calls: int | None, batch: int, distance: Distance = NEAR) -> Case:
    updates = Updates(count, calls, distance)

    async def run() -> None:
        await updates.pipeline.apply(updates.changes(), batch)

    return Case(name, count, run, updates.prepare)


async def _updates(meter: Meter) -> Measurement:
    count = meter.scaled(CHANGES)
    return await meter.compare(
        "scattered updates, 3 indexes, not cached",
        unit="change",
        subject=_case("adaptive", count, None, 1_000),
        yardsticks=[_case(name, count, calls, 1_000) for name, calls in YARDSTICKS.items()],
        bars=[Bar(at_most=1 / 0.85, against=IDEAL)],
    )


async def _small_batches(meter: Meter) -> Measurement:
    """As live traffic comes: one batch after the other."""
    count = SMALL_BATCH * max(1, meter.scaled(BATCHES))
    return await meter.compare(
        "scattered updates in batches of 100, not cached",
        unit="change",
        subject=_case("adaptive", count, None, SMALL_BATCH),
        yardsticks=[_case(name, count, calls, SMALL_BATCH) for name, calls in YARDSTICKS.items()],
    )


async def _throttled(meter: Meter) -> Measurement:
    """An account that allows about half of what is offered: the gauges say what is made of it."""
    allowed = 1_000.0
    count = meter.scaled(2 * CHANGES)
    updates = Updates(count, None, Distance(account_calls=allowed))
    shares: list[tuple[float, float]] = []

    async def run() -> None:
        service, began, before = updates.service, time.perf_counter(), updates.service.answered
        await updates.pipeline.apply(updates.changes())
        answered = service.answered - before
        used = answered / ((time.perf_counter() - began) * allowed)
        shares.append((used, service.throttled / (answered + service.throttled)))

    measured = await meter.compare(
        "scattered updates, account throttles at 1 000 calls/s",
        unit="change",
        subject=Case("adaptive", count, run, updates.prepare),
    )
    used = statistics.median(share for share, _ in shares)
    refused = statistics.median(share for _, share in shares)
    return _with_gauges(
        measured,
        Gauge("allowed calls not used", "%", round(100 * max(0.0, 1 - used), 2), at_most=10),
        Gauge("calls refused", "%", round(100 * refused, 2), at_most=3),
    )


class DistantFacts:
    """Facts of Cosmos DB, as far away as the tables."""

    async def read(
        self, source: Source, fact_id: str, partition_key: tuple[FactKeyValue, ...]
    ) -> dict[str, Any] | None:
        """The fact, after one call's time."""
        await asyncio.sleep(NEAR.median_seconds)
        return {"id": fact_id}


async def _store_to_look_up() -> Store:
    store = Store()
    pipeline = Pipeline(LOOKUP_YAML, MemoryTables(store))
    await pipeline.prepare()
    facts = [customer(n, town=f"town {n % 4}", lastName=f"name {n:04}") for n in range(LOOKUP_FACTS)]
    await pipeline.apply(facts)
    return store


def _lookups(store: Store, carrier: DistantCarrier, yaml: str = LOOKUP_YAML) -> Lookups:
    tables = tables_of(store, carrier, Priority.CALLER)
    return Lookups(DefinedGenerations(load(yaml).require()), Replicas(tables), PageTokens(b"key"), facts=DistantFacts())


async def _lookup(
    meter: Meter, name: str, index: str, parameters: Mapping[str, str], at_most: float | None
) -> Measurement:
    count, store = meter.scaled(LOOKUPS), await _store_to_look_up()
    # All calls take the same time here: a slow one among 16 is a matter of the service, not of the lookup.
    steady = Distance(spread=1.0, slow_share=0.0)
    carrier = carrier_to(DistantService(steady), new_limiter(None))
    lookups, tables = _lookups(store, carrier), tables_of(store, carrier, Priority.CALLER)
    table = next(name for name in store.tables() if name.startswith("bytown"))
    rows = 1 if name == "point" else 20

    async def ours() -> None:
        for _ in range(count):
            await lookups.find(index, parameters)

    async def one_call() -> None:
        for _ in range(count):
            await tables.query(table, RowRange("town 3 !"), limit=rows)

    return await meter.compare(
        f"lookup: {name}",
        unit="lookup",
        subject=Case("lookup", count, ours),
        yardsticks=[Case(ONE_CALL, count, one_call)],
        bars=[] if at_most is None else [Bar(at_most=at_most, against=ONE_CALL)],
    )


async def _lookups_beside_writes(meter: Meter) -> Measurement:
    """Lookups of one row while a worker writes as fast as it can, in the same process."""
    updates = Updates(meter.scaled(2 * CHANGES), None)
    await updates.prepare()
    lookups = _lookups(updates.store, updates.carrier, CUSTOMERS_YAML)
    medians: dict[str, float] = {}

    async def look_up(label: str) -> None:
        seconds = []
        for _ in range(meter.scaled(LOOKUPS)):
            began = time.perf_counter()
            await lookups.find("by-town", {"town": "town 7"})
            seconds.append(time.perf_counter() - began)
        medians[label] = statistics.median(seconds)

    async def run() -> None:
        writing = asyncio.create_task(updates.pipeline.apply(updates.changes()))
        await asyncio.sleep(0.5)
        await look_up("beside")
        if writing.done():
            await writing
        else:
            writing.cancel()

    await look_up("alone")
    measured = await meter.compare(
        "lookups of one row beside a full write load", unit="lookup", subject=Case("lookup", meter.scaled(LOOKUPS), run)
    )
    times = medians["beside"] / medians["alone"]
    return _with_gauges(measured, Gauge("median, as times of alone", "times", round(times, 2), at_most=2))


def _with_gauges(measurement: Measurement, *gauges: Gauge) -> Measurement:
    return replace(measurement, gauges=gauges)
