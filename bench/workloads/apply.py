"""What applying a change costs on Azurite, against raw transactions with the same rows and against the obvious way."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bench.cases.facts import (
    MOVIES_YAML,
    SHARDED_YAML,
    crowded,
    customers,
    mixed,
    movies,
    steadily_changed,
)
from bench.cases.rivals import (
    OBVIOUS,
    RAW,
    Scenario,
    obvious_case,
    pipeline_case,
    raw_batches_case,
    raw_case,
    storage_serving,
    sweep_case,
)
from bench.measure.measurement import Bar

if TYPE_CHECKING:
    from bench.cases.rivals import Storage
    from bench.measure.measurement import Measurement
    from bench.measure.meter import Meter

NAME = "apply"
BULK_FACTS = 2_000
FACTS = 1_000
# The SDK is slow: fewer facts say as much.
OBVIOUS_FACTS = 60
# A live stream comes in smaller pieces than a backlog.
STREAM_BATCH = 100
ROUNDS_MAX = 3

BULK = Scenario("bulk load into 3 indexes", customers)
STEADY = Scenario("steady updates, 9 in 10 in place, 3 indexes", steadily_changed, before=customers)
MOVES = Scenario("key changes, 1 of 3 entries moves", partial(customers, version=1, town="moved"), before=customers)
DELETES = Scenario("deletes from 3 indexes", partial(customers, version=1, isDeleted=True), before=customers)
MULTI_VALUED = Scenario(
    "multi-valued facts, 1 of 5 entries replaced", partial(movies, version=1), before=movies, yaml=MOVIES_YAML
)
HOT = Scenario("hot partition, 9 in 10 at one value, 16 shards", crowded, yaml=SHARDED_YAML)
MIXED = Scenario("a mixed stream in batches of 100, 3 indexes", mixed, before=customers, batch=STREAM_BATCH)
MIXED_BARS = (Bar(at_most=1.6, against=RAW),)
BARS = (
    Bar(at_most=1 / 0.8, against=RAW),
    Bar(at_most=1 / 12, against=OBVIOUS),
    Bar(at_most=0.000_200, clock="cpu"),
)


async def measure(meter: Meter) -> list[Measurement]:
    """Bulk load with all yardsticks, then what happens to facts later in their life."""
    async with storage_serving() as storage:
        return [
            await _bulk(meter, storage),
            await _steady(meter.at_most(ROUNDS_MAX), storage),
            *[await _against_raw(meter.at_most(ROUNDS_MAX), storage, workload) for workload in (MOVES, DELETES)],
            *[await _against_raw(meter.at_most(ROUNDS_MAX), storage, workload) for workload in (MULTI_VALUED, HOT)],
            await _mixed(meter.at_most(ROUNDS_MAX), storage),
            await _sweep(meter.at_most(ROUNDS_MAX), storage),
        ]


async def _bulk(meter: Meter, storage: Storage) -> Measurement:
    count, few = meter.scaled(BULK_FACTS), meter.scaled(OBVIOUS_FACTS)
    return await meter.compare(
        BULK.name,
        unit="fact",
        subject=pipeline_case(storage, BULK, count),
        yardsticks=[raw_case(storage, BULK, count), obvious_case(storage, BULK, few)],
        bars=BARS,
    )


async def _steady(meter: Meter, storage: Storage) -> Measurement:
    count, few = meter.scaled(FACTS), meter.scaled(OBVIOUS_FACTS)
    return await meter.compare(
        STEADY.name,
        unit="change",
        subject=pipeline_case(storage, STEADY, count),
        yardsticks=[raw_case(storage, STEADY, count), obvious_case(storage, STEADY, few)],
    )


async def _against_raw(meter: Meter, storage: Storage, scenario: Scenario) -> Measurement:
    count = meter.scaled(FACTS)
    return await meter.compare(
        scenario.name,
        unit="change",
        subject=pipeline_case(storage, scenario, count),
        yardsticks=[raw_case(storage, scenario, count)],
    )


async def _mixed(meter: Meter, storage: Storage) -> Measurement:
    count = meter.scaled(FACTS)
    return await meter.compare(
        MIXED.name,
        unit="change",
        subject=pipeline_case(storage, MIXED, count),
        yardsticks=[raw_case(storage, MIXED, count), raw_batches_case(storage, MIXED, count)],
        bars=MIXED_BARS,
    )


async def _sweep(meter: Meter, storage: Storage) -> Measurement:
    count = meter.scaled(FACTS) // 4 or 1
    return await meter.compare("sweep after key changes", unit="tombstone", subject=sweep_case(storage, MOVES, count))
