"""Everything at once, each in a process of its own: Azurite, Cosmos DB, and hosts with the whole function app.

A `Feed` is a container with an index of its own, so that several can be measured beside each other.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from azure.cosmos.aio import CosmosClient

from bench.cases.facts import customer
from bench.cases.in_flight import CALLS_AT_ONCE, in_flight
from bench.errors import BenchError
from bench.processes.servers import azurite_process, cosmos_endpoint
from local.emulators.cosmos.http.options import EMULATOR_KEY
from local.run.provision import provision_cosmos, provision_tables
from shared.app.world import TIMING
from shared.definitions.loading.load import load
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.lookup.generations import generation_of
from shared.sources.trigger_leases import LEASE_CONTAINER
from shared.tables.client import TableClient
from shared.tables.port import RowRange
from shared.tables.wire.account import Account

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator, Awaitable, Callable

    from azure.cosmos.aio import ContainerProxy

POLL_MS = 500
_LOOK_SECONDS = 0.05
_PATIENCE_SECONDS = 120
_YAML = """
version: 1
sources: {{{name}: {{cosmos: {{database: {name}, container: facts}}, partitionKey: customerId}}}}
indexes: {{{name}-by-town: {{source: {name}, partition: town, sort: lastName, project: [phone, email]}}}}
"""


@dataclass(frozen=True, slots=True)
class Stack:
    """Storage and Cosmos DB, which are up."""

    storage: str
    azurite: Process
    endpoint: str
    cosmos: CosmosClient
    tables: TableClient
    folder: Path

    async def feed(self, name: str) -> Feed:
        """A new container with an index, and the settings of the hosts that keep it."""
        file = self.folder / f"{name}.yaml"
        file.write_text(_YAML.format(name=name), encoding="utf-8")
        definitions = load(file.read_text(encoding="utf-8")).require()
        await provision_cosmos(self.endpoint, EMULATOR_KEY, definitions)
        await provision_tables({DEFAULT_ACCOUNT: self.storage}, definitions)
        settings = {
            "AzureWebJobsStorage": self.storage,
            "INDEX_STORAGE": self.storage,
            "INDEX_DEFINITIONS": str(file),
            "COSMOS": f"AccountEndpoint={self.endpoint};AccountKey={EMULATOR_KEY};",
            "FEED_POLL_DELAY_MS": str(POLL_MS),
        }
        (index,) = definitions.indexes.values()
        table = generation_of(index, definitions.sources[name]).table
        database = self.cosmos.get_database_client(name)
        containers = database.get_container_client("facts"), database.get_container_client(LEASE_CONTAINER)
        return Feed(index.name, table, settings, *containers, self.tables)


@dataclass(frozen=True, slots=True)
class Feed:
    """A container whose changes hosts follow into one index."""

    index: str
    table: str
    settings: dict[str, str]
    facts: ContainerProxy
    leases: ContainerProxy
    tables: TableClient

    async def write(self, town: str, count: int) -> None:
        """So many facts of one town, all acknowledged."""

        async def upsert(number: int) -> None:
            await self.facts.upsert_item(fact_of(town, number))

        await in_flight(CALLS_AT_ONCE, upsert, count)

    async def seconds_until_visible(self, town: str, count: int) -> float:
        """How long it takes from now until the index has all of them."""
        return await seconds_until(lambda: self._has(town, count), f"{count} facts of {town} in the index")

    async def _has(self, town: str, count: int) -> bool:
        rows = await self.tables.query(self.table, RowRange(f"{town} !"), select=["RowKey"])
        return len(rows.rows) >= min(count, 1000)

    async def wait_for_owners(self, count: int) -> None:
        """Until so many hosts share the leases."""

        async def shared() -> bool:
            leases = self.leases.query_items("SELECT VALUE c.Owner FROM c WHERE IS_STRING(c.Owner)")
            return len({owner async for owner in leases}) >= count

        await seconds_until(shared, f"{count} hosts that share the leases")


def fact_of(town: str, number: int) -> dict[str, object]:
    """A fact of that town, as an application writes it."""
    plain = customer(number, town=town, lastName=f"name {number:05}", id=f"{town}-{number}")
    return {name: value for name, value in plain.items() if not name.startswith("_")}


async def seconds_until(holds: Callable[[], Awaitable[bool]], what: str, pause: float = _LOOK_SECONDS) -> float:
    """How long it takes until `holds()`; an error that names `what` when that never comes."""
    start = time.perf_counter()
    while not await holds():
        if time.perf_counter() - start > _PATIENCE_SECONDS:
            raise BenchError(f"After {_PATIENCE_SECONDS} s still not: {what}. Look at the hosts by hand.")
        await asyncio.sleep(pause)
    return time.perf_counter() - start


@asynccontextmanager
async def stack_serving() -> AsyncIterator[Stack]:
    """Storage and Cosmos DB for the length of the block."""
    with TemporaryDirectory(prefix="bench-stack-") as folder:
        async with (
            azurite_process() as (storage, azurite),
            cosmos_endpoint(f"{folder}/cosmos") as endpoint,
            CosmosClient(endpoint, EMULATOR_KEY) as cosmos,
            TableClient(Account.from_connection_string(storage), TIMING) as tables,
        ):
            yield Stack(storage, azurite, endpoint, cosmos, tables, Path(folder))
