"""The whole system in processes of its own: lag from write to lookup, recovery after an outage, one host and two."""

from __future__ import annotations

import asyncio
import itertools
import statistics
import time
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from aiohttp import ClientSession
from yarl import URL

from bench.cases.stack import POLL_MS, fact_of, seconds_until, stack_serving
from bench.measure.case import Case, Sample
from bench.measure.measurement import Gauge
from bench.processes.servers import frozen, host_serving

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Iterator

    from bench.cases.stack import Feed, Stack
    from bench.measure.measurement import Measurement
    from bench.measure.meter import Meter

NAME = "live"
WRITES = 120
WRITERS = 4
BACKLOG = 1_000
OUTAGE_SECONDS = 3
ROUNDS_MAX = 3
P50_SECONDS_MAX, P99_SECONDS_MAX = 1.0, 3.0
_LOOK_SECONDS = 0.02
# Writers pause by fractions of the poll delay that fill it evenly, so that no phase is left out.
_GOLDEN = 0.618_034
_towns = itertools.count()


async def measure(meter: Meter) -> list[Measurement]:
    """Each on feeds of its own, over one storage and one Cosmos DB."""
    async with stack_serving() as stack:
        return [await _lag(meter, stack), await _outage(meter, stack), await _two_hosts(meter, stack)]


# ---------------------------------------------------------------------------------------------------- lag


async def _lag(meter: Meter, stack: Stack) -> Measurement:
    feed = await stack.feed("lag")
    count = max(WRITERS, meter.scaled(WRITES))
    lags: list[float] = []
    async with host_serving(feed.settings) as (base, _), ClientSession() as http:
        await _warm(feed)

        async def run() -> Sample:
            numbers, cpu = iter(range(count)), time.process_time()
            lags[:] = [
                lag
                for lags in await asyncio.gather(*[_writer(feed, base, http, numbers, n) for n in range(WRITERS)])
                for lag in lags
            ]
            cpu = time.process_time() - cpu
            return Sample(statistics.median(lags), cpu / count, {"writes seen": len(lags)})

        measured = await meter.once().compare(
            f"lag at {POLL_MS} ms poll", unit="write", subject=Case("write acknowledged to visible", count, run)
        )
    return replace(measured, gauges=_percentiles(lags), is_compared=False)


async def _writer(feed: Feed, base: str, http: ClientSession, numbers: Iterator[int], phase: int) -> list[float]:
    lags = []
    for number in numbers:
        await asyncio.sleep((number * _GOLDEN + phase / WRITERS) % 1 * POLL_MS / 1000)
        lags.append(await _seconds_until_looked_up(feed, base, http, number))
    return lags


async def _seconds_until_looked_up(feed: Feed, base: str, http: ClientSession, number: int) -> float:
    """From the acknowledged write until a lookup over HTTP has it."""
    fact = fact_of("lag", number)
    query = {"town": "lag", "lastName": str(fact["lastName"])}
    url = URL(f"{base}/api/indexes/{feed.index}/entries").with_query(query)

    async def is_there() -> bool:
        async with http.get(url) as response:
            return response.ok and b'"id"' in await response.read()

    await feed.facts.upsert_item(fact)
    return await seconds_until(is_there, f"fact {number} in a lookup", _LOOK_SECONDS)


def _percentiles(lags: list[float]) -> tuple[Gauge, ...]:
    hundredths = statistics.quantiles(lags, n=100, method="inclusive")
    return (
        Gauge("lag, median", "s", hundredths[49], P50_SECONDS_MAX),
        Gauge("lag, 99th percentile", "s", hundredths[98], P99_SECONDS_MAX),
    )


# ---------------------------------------------------------------------------------------------------- outage


async def _outage(meter: Meter, stack: Stack) -> Measurement:
    """Storage freezes; facts are written meanwhile; from its return on, how long until all are visible?"""
    feed, count = await stack.feed("outage"), meter.scaled(BACKLOG)
    async with host_serving(feed.settings):
        await _warm(feed)

        async def after_an_outage() -> Sample:
            town = _new_town()
            with frozen(stack.azurite):
                end = time.perf_counter() + OUTAGE_SECONDS
                await feed.write(town, count)
                await asyncio.sleep(max(0.0, end - time.perf_counter()))
            return _sample(await feed.seconds_until_visible(town, count), count)

        async def without() -> Sample:
            town = _new_town()
            await feed.write(town, count)
            return _sample(await feed.seconds_until_visible(town, count), count)

        measured = await meter.at_most(ROUNDS_MAX).compare(
            f"{OUTAGE_SECONDS} s without storage, {BACKLOG} facts written meanwhile",
            unit="recovery",
            subject=Case("from its return until all are visible", 1, after_an_outage),
            yardsticks=[Case("no outage, from the last write on", 1, without)],
        )
        return replace(measured, is_compared=False)


# ---------------------------------------------------------------------------------------------------- two hosts


async def _two_hosts(meter: Meter, stack: Stack) -> Measurement:
    """A backlog that hosts find when they wake up; two share the leases of one container."""
    count = meter.scaled(BACKLOG)
    first, second = await stack.feed("one"), await stack.feed("two")
    async with AsyncExitStack() as hosts:
        alone = [await _host(hosts, first)]
        both = [await _host(hosts, second), await _host(hosts, second)]
        await second.wait_for_owners(len(both))
        await _warm(first)
        await _warm(second)
        measured = await meter.at_most(ROUNDS_MAX).compare(
            f"a backlog of {BACKLOG} facts",
            unit="backlog",
            subject=Case("two hosts", 1, lambda: _drain(second, both, count)),
            yardsticks=[Case("one host", 1, lambda: _drain(first, alone, count))],
        )
        return replace(measured, is_compared=False)


async def _host(hosts: AsyncExitStack, feed: Feed) -> Process:
    _, process = await hosts.enter_async_context(host_serving(feed.settings))
    return process


async def _drain(feed: Feed, processes: list[Process], count: int) -> Sample:
    town = _new_town()
    with frozen(*processes):
        await feed.write(town, count)
    return _sample(await feed.seconds_until_visible(town, count), count)


async def _warm(feed: Feed) -> None:
    """A few facts all the way, so that leases are held and tables are there."""
    await feed.write("warm", WRITERS)
    await feed.seconds_until_visible("warm", WRITERS)


def _new_town() -> str:
    return f"town {next(_towns)}"


def _sample(seconds: float, count: int) -> Sample:
    """The CPU that matters here is the hosts', which this process does not see."""
    return Sample(seconds, time.get_clock_info("process_time").resolution, {"facts": count})
