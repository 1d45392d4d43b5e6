"""What changes and lookups take when every call takes as long as in Azure, against the same calls without a limit."""

from __future__ import annotations

import asyncio
import logging
import statistics
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bench.cases.distant_lookups import LOOKUP_YAML, lookups_by, lookups_in, store_to_look_up
from bench.cases.distant_server import distant_server
from bench.cases.distant_tables import (
    UNLIMITED,
    Distance,
    DistantService,
    carrier_to,
    distance_of,
    new_limiter,
    tables_of,
)
from bench.cases.distant_updates import Updates
from bench.cases.facts import CUSTOMERS_YAML
from bench.measure.case import Case, Sample
from bench.measure.measurement import Bar, Gauge, Measurement
from shared.errors import IndexTablesError
from shared.tables.limiter.calls import Priority
from shared.tables.port import RowRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.measure.meter import Meter

NAME: Final = "distance"
UPDATES: Final = "scattered updates, 3 indexes, not cached"
# What the model of scale reads.
CALLS: Final = "storage calls"
CHANGES: Final = 1_000
WARM: Final = 1_000
BATCHES: Final = 5
SMALL_BATCH: Final = 100
LOOKUPS: Final = 100
FIRST_SECONDS: Final = 1.0
IDLE_SECONDS: Final = 10.0
HOT_SECONDS: Final = 5.0
ROUNDS_MAX: Final = 3
IDEAL, FIXED, ONE_CALL = "without a limit", "16 at once", "one call"
LIMITS: Final = {IDEAL: UNLIMITED, FIXED: 16}
TOWN: Final = {"town": "town 3", "maxpagesize": "20"}
POINT: Final = {"town": "town 3", "lastName": "name 0003", "firstName": "Zoë"}
READINGS: Final = (
    ("point", "by-town", POINT, 1.15),
    ("20 rows", "by-town", TOWN, 1.15),
    ("20 rows of 16 shards", "by-town-sharded", TOWN, 1.6),
    ("20 rows with their facts", "by-town", {**TOWN, "expand": "fact"}, None),
)


async def measure(meter: Meter) -> list[Measurement]:
    """Writing, throttling, and lookups."""
    few, distance = meter.at_most(ROUNDS_MAX), distance_of(meter.distance)
    # Throttles are what is measured here, and not worth a line each.
    logging.getLogger("shared.tables.retry").setLevel(logging.CRITICAL)
    updates, calls_per_second = await _updates(few, distance)
    return [
        updates,
        await _first_second(few, distance),
        await _small_batches(few, distance),
        await _throttled(few, replace(distance, account_calls=calls_per_second / 2)),
        await _hot_partition(few, distance),
        *[await _lookup(few, distance, *reading) for reading in READINGS],
        await _after_a_pause(few.once(), distance),
        await _lookups_beside_writes(few.once(), distance),
    ]


def _case(name: str, updates: Updates, batch: int = 1_000) -> Case:
    async def run() -> None:
        await updates.pipeline.apply(updates.changes(), batch)

    return Case(name, updates.count, run, updates.prepare)


async def _updates(meter: Meter, distance: Distance) -> tuple[Measurement, float]:
    """By workers that have found their limit; and how many calls a second there were without any."""
    count, warm = meter.scaled(CHANGES), meter.scaled(WARM)
    ours = Updates(distance, count, warm=warm)
    others = {name: Updates(distance, count, calls=calls, warm=warm) for name, calls in LIMITS.items()}
    measured = await meter.compare(
        UPDATES,
        unit="change",
        subject=_case("adaptive", ours),
        yardsticks=[_case(name, updates) for name, updates in others.items()],
        bars=[Bar(at_most=1 / 0.85, against=IDEAL)],
    )
    calls = ours.service.answered / (count + warm)
    cpu = 1000 * measured.subject.seconds.cpu.median / calls
    ideal = measured.yardsticks[0].seconds.wall.median
    return _with_gauges(
        measured,
        Gauge(CALLS, "a second", round(calls / measured.subject.seconds.wall.median)),
        # HTTP is not in it: the service is in memory.
        Gauge("CPU per call without HTTP", "ms", round(cpu, 3), at_most=0.25),
    ), calls / ideal


async def _first_second(meter: Meter, distance: Distance) -> Measurement:
    """Of a worker that has just started, with far more to do than it can."""
    seconds = FIRST_SECONDS * min(1.0, meter.scale)
    count = meter.scaled(4 * CHANGES)

    def case(name: str, calls: int | None) -> Case:
        updates = Updates(distance, count, calls=calls)

        async def run() -> Sample:
            before, cpu = updates.service.answered, time.process_time()
            writing = asyncio.create_task(updates.pipeline.apply(updates.changes()))
            await asyncio.sleep(seconds)
            answered, cpu = max(1, updates.service.answered - before), time.process_time() - cpu
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            return Sample(seconds / answered, cpu / answered, {})

        return Case(name, count, run, updates.prepare)

    return await meter.compare(
        "the first second of a worker, cold",
        unit="call",
        subject=case("adaptive", None),
        yardsticks=[case(name, calls) for name, calls in LIMITS.items()],
        bars=[Bar(at_most=1 / 0.8, against=IDEAL)],
    )


async def _small_batches(meter: Meter, distance: Distance) -> Measurement:
    """As live traffic comes: one batch after the other."""
    count, warm = SMALL_BATCH * max(1, meter.scaled(BATCHES)), meter.scaled(WARM)
    return await meter.compare(
        "scattered updates in batches of 100, not cached",
        unit="change",
        subject=_case("adaptive", Updates(distance, count, warm=warm), SMALL_BATCH),
        yardsticks=[
            _case(name, Updates(distance, count, calls=calls, warm=warm), SMALL_BATCH) for name, calls in LIMITS.items()
        ],
        bars=[Bar(at_most=0.75, against=FIXED)],
    )


@dataclass(frozen=True, slots=True)
class Throttled:
    """What became of one round under throttling."""

    used: float
    refused: float
    failed: bool


async def _throttled(meter: Meter, distance: Distance) -> Measurement:
    """An account that allows half of what was offered: the gauges say what is made of it."""
    count = meter.scaled(2 * CHANGES)
    updates = Updates(distance, count, warm=meter.scaled(WARM))
    seen: list[Throttled] = []

    async def run() -> None:
        service, began = updates.service, time.perf_counter()
        answered, refused = service.answered, service.throttled
        failed = False
        try:
            await updates.pipeline.apply(updates.changes())
        except IndexTablesError:
            failed = True
        answered, refused = service.answered - answered, service.throttled - refused
        allowed = (time.perf_counter() - began) * distance.account_calls
        seen.append(Throttled(answered / allowed, refused / max(1, answered + refused), failed))

    measured = await meter.compare(
        "updates, half of what is offered is taken",
        unit="change",
        subject=Case("adaptive", count, run, updates.prepare),
    )
    unused = 1 - statistics.median(round_.used for round_ in seen)
    refused = statistics.median(round_.refused for round_ in seen)
    return _with_gauges(
        measured,
        Gauge("calls allowed", "a second", round(distance.account_calls)),
        Gauge("allowed calls not used", "%", round(100 * max(0.0, unused), 2), at_most=10),
        Gauge("calls refused", "%", round(100 * refused, 2), at_most=3),
        Gauge("rounds with a batch that failed", "rounds", sum(round_.failed for round_ in seen), at_most=0),
    )


async def _hot_partition(meter: Meter, distance: Distance) -> Measurement:
    """Scattered updates, beside a worker that offers more to one partition than that takes."""
    count, warm = meter.scaled(CHANGES), meter.scaled(WARM)
    beside, alone = Updates(distance, count, warm=warm), Updates(distance, count, warm=warm)
    hot: list[asyncio.Task[None]] = []

    async def prepare() -> None:
        await beside.prepare()
        hot.append(asyncio.create_task(beside.keep_hot()))
        # It has been hot for a while: its pace is known.
        await asyncio.sleep(HOT_SECONDS * min(1.0, meter.scale))

    async def run() -> None:
        await beside.pipeline.apply(beside.changes())
        task = hot.pop()
        task.cancel()
        await task

    return await meter.compare(
        f"updates beside a partition of {distance.hot_rows:g} rows/s",
        unit="change",
        subject=Case("beside it", count, run, prepare),
        yardsticks=[_case("without it", alone)],
        bars=[Bar(at_most=1 / 0.8, against="without it")],
    )


async def _lookup(
    meter: Meter, distance: Distance, name: str, index: str, parameters: Mapping[str, str], at_most: float | None
) -> Measurement:
    count, store = meter.scaled(LOOKUPS), await store_to_look_up()
    # All calls take the same time here: a slow one among 16 is a matter of the service, not of the lookup.
    carrier = carrier_to(DistantService(replace(distance, spread=1.0, slow_share=0.0)), new_limiter(None))
    lookups, tables = lookups_by(store, carrier), tables_of(store, carrier, Priority.CALLER)
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


async def _after_a_pause(meter: Meter, distance: Distance) -> Measurement:
    """The first lookup over TLS after a while without any: no handshake."""
    async with distant_server(distance.median_seconds) as server:
        lookups = lookups_in(server.tables, LOOKUP_YAML, distance.median_seconds)

        async def find() -> None:
            await lookups.find("by-town", POINT)

        async def pause() -> None:
            await find()
            await asyncio.sleep(IDLE_SECONDS * min(1.0, meter.scale))

        measured = await meter.compare(
            f"lookup: the first after {IDLE_SECONDS:g} s idle, over TLS",
            unit="lookup",
            subject=Case("first", 1, find, pause),
            yardsticks=[Case("the next", 1, find)],
        )
        opened = len(server.connections)
    return _with_gauges(
        replace(measured, is_compared=False), Gauge("connections in all", "connections", opened, at_most=1)
    )


async def _lookups_beside_writes(meter: Meter, distance: Distance) -> Measurement:
    """Lookups of one row while a worker writes as fast as it can, in the same process."""
    updates = Updates(distance, meter.scaled(4 * CHANGES), warm=meter.scaled(WARM))
    await updates.prepare()
    lookups = lookups_by(updates.store, updates.carrier, CUSTOMERS_YAML)
    medians: dict[str, float] = {}
    count = meter.scaled(LOOKUPS)

    async def look_up(label: str) -> None:
        seconds: list[float] = []
        for _ in range(count):
            began = time.perf_counter()
            await lookups.find("by-town", {"town": "town 7"})
            seconds.append(time.perf_counter() - began)
        medians[label] = statistics.median(seconds)

    async def run() -> None:
        writing = asyncio.create_task(updates.pipeline.apply(updates.changes()))
        await asyncio.sleep(0)
        await look_up("beside")
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)

    await look_up("alone")
    measured = await meter.compare(
        "lookups of one row beside a full write load", unit="lookup", subject=Case("lookup", count, run)
    )
    times = medians["beside"] / medians["alone"]
    return _with_gauges(measured, Gauge("median, as times of alone", "times", round(times, 2), at_most=2))


def _with_gauges(measurement: Measurement, *gauges: Gauge) -> Measurement:
    return replace(measurement, gauges=gauges)
