"""What a lookup through the function host costs against the same bare Table query, alone and beside writes, and the CPU
of each row that is returned."""

from __future__ import annotations

import asyncio
import contextlib
import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aiohttp import ClientSession
from yarl import URL

from bench.case import Case
from bench.measurement import Bar
from bench.processes import azurite_serving, module_serving
from local import ports
from shared.definitions.load import load
from shared.keys.versions import ticks_clock
from shared.lookup.generations import DefinedGenerations, generation_of
from shared.lookup.lookups import Lookups
from shared.lookup.replicas import Replicas
from shared.lookup.tokens import Tokens
from shared.projection.change import FactReader
from shared.projection.project import Projector
from shared.projection.rows import live_row
from shared.tables.account import Account
from shared.tables.client import TableClient
from shared.tables.port import RowRange, Upsert
from shared.tables.retry import Timing
from shared.tables.sign import KeySigner
from shared.tables.transport import API_VERSION
from shared.tables.urls import query_path
from shared.web.answers import json_answer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench.measurement import Measurement
    from bench.meter import Meter
    from shared.tables.port import Entity

NAME: Final = "lookup"
TOWNS: Final = 10
ROWS_PER_TOWN: Final = 1000
LOOKUPS: Final = 60
LARGE_PAGES: Final = 10
ROWS: Final = 20
TOWN: Final = "Town 3"
WRITE_PAUSE_SECONDS: Final = 0.02
YAML: Final = """
version: 1
sources: {customers: {cosmos: {database: shop, container: customers}, partitionKey: customerId}}
indexes:
  customers-by-town: {source: customers, partition: town, sort: [lastName, firstName], project: [phone, email]}
"""


@dataclass(frozen=True, slots=True)
class Services:
    """The table with its 10 000 rows, and the ways to it."""

    account: Account
    client: TableClient
    lookups: Lookups
    http: ClientSession
    table: str
    base: str

    async def look_up(self) -> int:
        """A lookup through the host; how many rows it brought."""
        target = f"{self.base}/api/indexes/customers-by-town/entries?town={TOWN.replace(' ', '%20')}&maxpagesize={ROWS}"
        async with self.http.get(URL(target, encoded=True)) as response:
            response.raise_for_status()
            return (await response.read()).count(b'"id"')

    async def query_bare(self) -> int:
        """The same rows, asked of the Table service by hand; the answer is not looked at."""
        path = query_path(self.table, RowRange(f"{TOWN} !"), ROWS, (), None)
        signer = KeySigner(self.account.name, str(self.account.key), time.time)
        signed = await signer.headers(f"/{self.account.name}{path.partition('?')[0]}")
        headers = {"x-ms-version": API_VERSION, "Accept": "application/json;odata=minimalmetadata", **signed}
        async with self.http.get(URL(self.account.endpoint + path, encoded=True), headers=headers) as response:
            response.raise_for_status()
            return (await response.read()).count(b'"RowKey"')

    async def read_large_page(self) -> int:
        """A page of 1000 rows in this process, up to the bytes of the answer."""
        page = await self.lookups.find("customers-by-town", {"town": TOWN, "maxpagesize": str(ROWS_PER_TOWN)})
        json_answer({"value": page.entries})
        return len(page.entries)

    @contextlib.asynccontextmanager
    async def beside_writes(self) -> AsyncIterator[None]:
        """Transactions of 20 rows on another table, one after the other, for the length of the block."""
        await self.client.create_table("load")

        async def write() -> None:
            while True:
                rows: list[Entity] = [
                    {"PartitionKey": "load", "RowKey": f"{row:03}", "text": "x" * 50} for row in range(20)
                ]
                await self.client.transact("load", [Upsert(row) for row in rows])
                await asyncio.sleep(WRITE_PAUSE_SECONDS)

        writing = asyncio.create_task(write())
        try:
            yield
        finally:
            writing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await writing


async def measure(meter: Meter) -> list[Measurement]:
    """Lookups of 20 rows in a table of 10 000, then large pages."""
    (port,) = ports.any_free(1)
    with tempfile.TemporaryDirectory(prefix="bench-lookup-") as folder:
        definitions = Path(folder) / "indexes.yaml"
        definitions.write_text(YAML, encoding="utf-8")
        async with azurite_serving() as connection:
            settings = {
                "INDEX_STORAGE": connection,
                "AzureWebJobsStorage": connection,
                "INDEX_DEFINITIONS": str(definitions),
            }
            account = Account.from_connection_string(connection)
            timing = Timing(time.time, time.monotonic, asyncio.sleep, random.random)
            async with (
                TableClient(account, timing) as client,
                ClientSession() as http,
                module_serving(port, "local", "host", "--http-only", "--port", str(port), settings=settings) as base,
            ):
                table = await _fill(client)
                lookups = Lookups(DefinedGenerations(load(YAML).require()), Replicas(client), Tokens(b"key"))
                services = Services(account, client, lookups, http, table, base)
                alone = await _compare(meter, services, "lookup of 20 rows", 1.5)
                async with services.beside_writes():
                    beside = await _compare(meter, services, "lookup of 20 rows beside writes", 2.0)
                return [alone, beside, await _rows(meter, services)]


async def _fill(client: TableClient) -> str:
    """Exactly 10 000 entries, as the pipeline would write them; the table's name."""
    definitions = load(YAML).require()
    index, source = definitions.indexes["customers-by-town"], definitions.sources["customers"]
    table = generation_of(index, source).table
    await client.create_table(table)
    reader, projector = FactReader(source), Projector(index, source)
    clock = str(ticks_clock(1, 0))
    for town in range(TOWNS):
        rows = []
        for number in range(ROWS_PER_TOWN):
            change = reader.change(str(number), (f"c-{town}-{number}",), clock, _customer(town, number))
            (entry,) = projector.project(change)
            rows.append(Upsert(live_row(entry.partition_key, entry.pair, change.version, entry.columns)))
        for start in range(0, len(rows), 100):
            await client.transact(table, rows[start : start + 100])
    return table


def _customer(town: int, number: int) -> dict[str, str]:
    return {
        "town": f"Town {town}",
        "lastName": f"Name {number % 97}",
        "firstName": f"First {number}",
        "phone": f"555-{number:04}",
        "email": f"someone{number}@example.com",
    }


async def _compare(meter: Meter, services: Services, name: str, at_most: float) -> Measurement:
    count = meter.scaled(LOOKUPS)

    async def through_host() -> dict[str, int]:
        return {"rows": sum([await services.look_up() for _ in range(count)])}

    async def bare() -> dict[str, int]:
        return {"rows": sum([await services.query_bare() for _ in range(count)])}

    return await meter.compare(
        name,
        unit="lookup",
        subject=Case("through the host", count, through_host),
        yardsticks=[Case("bare query", count, bare)],
        bars=[Bar(at_most=at_most, against="bare query")],
    )


async def _rows(meter: Meter, services: Services) -> Measurement:
    pages = meter.scaled(LARGE_PAGES)

    async def read() -> dict[str, int]:
        before = services.client.counts.total()
        rows = sum([await services.read_large_page() for _ in range(pages)])
        return {"rows": rows, "transactions": services.client.counts.total() - before}

    return await meter.compare(
        "rows of large pages",
        unit="row",
        subject=Case("in process", pages * ROWS_PER_TOWN, read),
        bars=[Bar(at_most=0.000_030, clock="cpu")],
    )
