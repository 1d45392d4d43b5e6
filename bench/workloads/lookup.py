"""What a lookup costs in process and through the function host, against the same rows by bare Table queries."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aiohttp import ClientSession
from yarl import URL

from bench.cases import many_lookups
from bench.cases.bare_tables import BareTables
from bench.cases.facts import customer
from bench.cases.lookup_cases import Reading, Services, bare_case, lookup_case
from bench.cases.pipeline import Pipeline
from bench.measure.case import Case
from bench.measure.measurement import Bar, Gauge
from bench.processes.far_away import far_away
from bench.processes.servers import azurite_serving, cosmos_serving, module_serving
from local.process import ports
from shared.app.world import TIMING
from shared.definitions.loading.load import load
from shared.inputs.page_tokens import PageTokens
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.sources.cosmos_facts import CosmosFacts
from shared.tables.client import TableClient
from shared.tables.port import Upsert
from shared.tables.wire.account import Account

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from azure.cosmos.aio import ContainerProxy, CosmosClient

    from bench.cases.facts import Fact
    from bench.measure.measurement import Measurement
    from bench.measure.meter import Meter
    from shared.tables.port import Entity

NAME: Final = "lookup"
FACTS: Final = 2_000
TOWNS: Final = 4
LOOKUPS: Final = 60
ROWS_COUNTED: Final = 5_000
HOST, BARE = "through the host", "bare query"
WRITE_PAUSE_SECONDS: Final = 0.02
YAML: Final = """
version: 1
sources: {customers: {cosmos: {database: shop, container: customers}, partitionKey: customerId}}
indexes:
  by-town: {source: customers, partition: town, sort: [lastName, firstName], project: [phone, email]}
  by-town-sharded: {source: customers, partition: town, sort: lastName, project: [phone, email], shards: 16}
  spend: {source: customers, partition: town, sort: segment, summarize: {customers: facts, spend: {sum: spend}}}
"""
TOWN: Final = {"town": "town 3", "maxpagesize": "20"}
READINGS: Final = (
    Reading("point", "by-town", {"town": "town 3", "lastName": "name 0003", "firstName": "Zoë"}, rows=1),
    Reading("range of 20 rows", "by-town", {**TOWN, "lastName.ge": "name 0040"}, rows=20),
    Reading("10 pages of 20 rows", "by-town", TOWN, rows=20, pages=10),
    Reading("20 rows of 16 shards", "by-town-sharded", TOWN, rows=20),
    Reading("a group of a summary", "spend", {"town": "town 3", "segment": "segment 3"}, rows=1),
    Reading("20 rows with their facts", "by-town", {**TOWN, "expand": "fact"}, rows=20),
)
LARGE: Final = Reading("rows of large pages", "by-town", {"town": "town 3", "maxpagesize": "1000"}, rows=FACTS // TOWNS)


def facts() -> list[Fact]:
    """Customers with names of their own, in few towns."""
    return [customer(number, town=f"town {number % TOWNS}", lastName=f"name {number:04}") for number in range(FACTS)]


async def measure(meter: Meter) -> list[Measurement]:
    """Each kind of lookup in process, then one of them through the host, alone and beside writes."""
    async with _serving() as (services, base, far_base):
        measured = [await _in_process(meter, services, reading) for reading in READINGS]
        measured.append(await _large_pages(meter, services))
        measured.append(await _through_host(meter, services, base, "20 rows through the host", 1.5))
        measured.append(await _many_through_host(meter, services, far_base))
        measured += await _many_keys(meter)
        measured.append(await _counted(meter))
        async with _beside_writes(services.client):
            measured.append(await _through_host(meter, services, base, "20 rows through the host, beside writes", 2.0))
        return measured


async def _in_process(meter: Meter, services: Services, reading: Reading) -> Measurement:
    count = max(1, meter.scaled(LOOKUPS) // reading.pages)
    return await meter.compare(
        reading.name,
        unit="page",
        subject=lookup_case(services, reading, count),
        yardsticks=[bare_case(BARE, services, reading, count)],
        bars=[Bar(at_most=1.3, against=BARE)],
    )


async def _large_pages(meter: Meter, services: Services) -> Measurement:
    case = lookup_case(services, LARGE, meter.scaled(LOOKUPS // 6))
    per_row = Case(case.name, case.operations * LARGE.rows, case.run)
    return await meter.compare(LARGE.name, unit="row", subject=per_row, bars=[Bar(at_most=0.000_030, clock="cpu")])


async def _through_host(meter: Meter, services: Services, base: str, name: str, at_most: float) -> Measurement:
    count = meter.scaled(LOOKUPS)
    reading = READINGS[1]
    url = URL(f"{base}/api/indexes/{reading.index}/entries").with_query(reading.parameters)

    async def ask() -> int:
        async with services.bare.http.get(url) as response:
            response.raise_for_status()
            return (await response.read()).count(b'"id"')

    async def run() -> dict[str, int]:
        return {"rows": sum([await ask() for _ in range(count)])}

    return await meter.compare(
        name,
        unit="lookup",
        subject=Case(HOST, count, run),
        yardsticks=[bare_case(BARE, services, reading, count)],
        bars=[Bar(at_most=at_most, against=BARE)],
    )


async def _many_keys(meter: Meter) -> list[Measurement]:
    """A hundred keys in one call, and fifty partitions in one lookup, against one lookup; what a filter takes."""
    lookups, count = await many_lookups.filled(YAML), meter.scaled(LOOKUPS // 6)
    one, bars = many_lookups.one(lookups, count), [Bar(at_most=3, against="one")]
    in_one_call, merged = many_lookups.in_one_call(lookups, count), many_lookups.merged(lookups, count)
    per_row = [Bar(at_most=0.000_015, clock="cpu")]
    return [
        await meter.compare("100 keys in one call", unit="call", subject=in_one_call, yardsticks=[one], bars=bars),
        await meter.compare("50 partitions in one lookup", unit="page", subject=merged, yardsticks=[one], bars=bars),
        await meter.compare("filter", unit="row", subject=many_lookups.filtering(count), bars=per_row),
    ]


async def _counted(meter: Meter) -> Measurement:
    """A count reads keys only, a thousand at once."""
    count = meter.scaled(ROWS_COUNTED)
    lookups, tables = await many_lookups.crowded(YAML, count)
    subject = many_lookups.counting(lookups, tables, count)
    measured = await meter.at_most(1).compare("count", unit="row", subject=subject)
    gauge = Gauge("storage", "transactions per 1,000 rows begun", _per_thousand(measured), at_most=1)
    return replace(measured, gauges=(gauge,))


def _per_thousand(measured: Measurement) -> float:
    counts = measured.subject.counts
    return counts["transactions"] / ceil(counts["rows"] / 1000)


async def _many_through_host(meter: Meter, services: Services, base: str) -> Measurement:
    """A hundred keys in one call against a call for each of them, one after the other. Storage is as far from the host
    as it is in Azure, or this would measure Azurite, which answers one request after the other."""
    keys = [{"town": "town 3", "lastName": f"name {4 * number + 3:04}"} for number in range(many_lookups.KEYS)]
    address = f"{base}/api/indexes/by-town"

    async def run_batch() -> dict[str, int]:
        async with services.bare.http.post(f"{address}/lookups", json={"lookups": keys}) as response:
            response.raise_for_status()
            return {"rows": (await response.read()).count(b'"id"')}

    async def run_calls() -> dict[str, int]:
        rows = 0
        for key in keys:
            async with services.bare.http.get(URL(f"{address}/entries").with_query(key)) as response:
                response.raise_for_status()
                rows += (await response.read()).count(b'"id"')
        return {"rows": rows}

    return await meter.compare(
        "100 keys through the host",
        unit="key",
        subject=Case("one call", len(keys), run_batch),
        yardsticks=[Case("a call each", len(keys), run_calls)],
        bars=[Bar(at_most=1 / 15, against="a call each")],
    )


@contextlib.asynccontextmanager
async def _serving() -> AsyncIterator[tuple[Services, str, str]]:
    """Azurite and Cosmos DB with the facts and their entries, and two hosts that read them, one from a distance."""
    port, far_port = ports.any_free(2)
    with tempfile.TemporaryDirectory(prefix="bench-lookup-") as folder:
        definitions = Path(folder) / "indexes.yaml"
        definitions.write_text(YAML, encoding="utf-8")
        async with (
            azurite_serving() as connection,
            far_away(connection, many_lookups.SERVICE_SECONDS) as far,
            cosmos_serving(f"{folder}/cosmos") as cosmos,
        ):
            settings = {"AzureWebJobsStorage": connection, "INDEX_DEFINITIONS": str(definitions)}
            near = settings | {"INDEX_STORAGE": connection}
            account = Account.from_connection_string(connection)
            async with (
                TableClient(account, TIMING) as client,
                ClientSession() as http,
                _host(port, near) as base,
                _host(far_port, settings | {"INDEX_STORAGE": far}) as far_base,
            ):
                container = await _fill(client, cosmos)
                found = Lookups(
                    DefinedGenerations(load(YAML).require()),
                    Replicas(client),
                    PageTokens(b"key"),
                    facts=CosmosFacts(lambda: cosmos),
                )
                yield Services(client, found, BareTables(account, http), container), base, far_base


def _host(port: int, settings: dict[str, str]) -> AbstractAsyncContextManager[str]:
    return module_serving(port, "local", "host", "--http-only", "--port", str(port), settings=settings)


async def _fill(client: TableClient, cosmos: CosmosClient) -> ContainerProxy:
    """The facts, and their entries as the pipeline writes them."""
    from azure.cosmos import PartitionKey

    pipeline = Pipeline(YAML, client)
    await pipeline.prepare()
    await pipeline.apply(facts())
    database = await cosmos.create_database("shop")
    container = await database.create_container("customers", PartitionKey("/customerId"))
    # Only those of one town are ever fetched.
    for fact in [fact for fact in facts() if fact["town"] == TOWN["town"]][:100]:
        await container.upsert_item({name: value for name, value in fact.items() if not name.startswith("_")})
    return container


@contextlib.asynccontextmanager
async def _beside_writes(client: TableClient) -> AsyncIterator[None]:
    """Transactions of 20 rows on another table, one after the other, for the length of the block."""
    await client.create_table("load")

    async def write() -> None:
        while True:
            rows: list[Entity] = [
                {"PartitionKey": "load", "RowKey": f"{row:03}", "text": "x" * 50} for row in range(20)
            ]
            await client.transact("load", [Upsert(row) for row in rows])
            await asyncio.sleep(WRITE_PAUSE_SECONDS)

    writing = asyncio.create_task(write())
    try:
        yield
    finally:
        writing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await writing
