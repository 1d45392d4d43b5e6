"""What the Table wire client costs per entity written and per row read, against azure-data-tables and bare HTTP."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiohttp import ClientSession
from azure.data.tables.aio import TableServiceClient

from bench.bare_tables import BareTables
from bench.case import Case
from bench.in_flight import CALLS_AT_ONCE, TRANSACTIONS_AT_ONCE, in_flight
from bench.measurement import Bar
from bench.processes import azurite_serving
from shared.app.connections import TIMING
from shared.tables.client import TableClient
from shared.tables.port import Upsert
from shared.tables.wire import batch
from shared.tables.wire.account import Account

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bench.measurement import Measurement
    from bench.meter import Meter
    from shared.tables.port import Entity

NAME = "tables"
TRANSACTIONS = 20
ENTITIES = 100
READS = 400
READ_TABLE = "readings"


def entity(partition: int, row: int) -> Entity:
    """A customer's entry in an index."""
    return {
        "PartitionKey": f"town {partition}",
        "RowKey": f"Smith|Ann|{row:06}",
        "phone": "+1 425 555 0100",
        "email": f"ann{row}@example.com",
        "visits": row,
        "rate": 0.5,
        "active": True,
    }


def entities(partition: int) -> list[Entity]:
    """The entities of one transaction."""
    return [entity(partition, row) for row in range(ENTITIES)]


@dataclass
class Rivals:
    """Three ways to the same Azurite. Each round writes to a table of its own: Azurite slows down with size."""

    account: Account
    client: TableClient
    sdk: TableServiceClient
    bare: BareTables
    names: itertools.count[int] = field(default_factory=itertools.count)
    table: str = ""
    bodies: list[bytes] = field(default_factory=list)

    async def new_table(self) -> None:
        """Before each round."""
        self.table = f"round{next(self.names)}"
        await self.client.create_table(self.table)

    async def new_table_and_bodies(self) -> None:
        """Bare HTTP sends bodies that were made before: the least that any client can do."""
        await self.new_table()
        url = f"{self.account.endpoint}/{self.table}"
        self.bodies = [batch.encode([Upsert(each) for each in entities(n)], url) for n in range(TRANSACTIONS)]

    async def write(self, number: int) -> None:
        """One transaction of ours."""
        await self.client.transact(self.table, [Upsert(each) for each in entities(number)])

    async def write_with_sdk(self, number: int) -> None:
        """The same transaction."""
        table = self.sdk.get_table_client(self.table)
        await table.submit_transaction([("upsert", each, {"mode": "replace"}) for each in entities(number)])

    async def write_bare(self, number: int) -> None:
        """The same bytes."""
        headers = {"Content-Type": batch.CONTENT_TYPE}
        await self.bare.send("POST", "/$batch", headers, self.bodies[number % len(self.bodies)])

    async def read(self, number: int) -> None:
        """One point read of ours."""
        await self.client.get(READ_TABLE, "town 0", f"Smith|Ann|{number % ENTITIES:06}")

    async def read_with_sdk(self, number: int) -> None:
        """The same row."""
        await self.sdk.get_table_client(READ_TABLE).get_entity("town 0", f"Smith|Ann|{number % ENTITIES:06}")

    async def read_bare(self, number: int) -> None:
        """The same request, the answer not looked at."""
        path = f"/{READ_TABLE}(PartitionKey='town%200',RowKey='Smith%7CAnn%7C{number % ENTITIES:06}')"
        await self.bare.get(path)


async def measure(meter: Meter) -> list[Measurement]:
    """Writes in full transactions, and point reads."""
    async with azurite_serving() as connection_string:
        account = Account.from_connection_string(connection_string)
        async with (
            TableClient(account, TIMING) as client,
            TableServiceClient.from_connection_string(connection_string) as sdk,
            ClientSession() as http,
        ):
            rivals = Rivals(account, client, sdk, BareTables(account, http))
            return [await _writes(meter, rivals), await _reads(meter, rivals)]


async def _writes(meter: Meter, rivals: Rivals) -> Measurement:
    count = meter.scaled(TRANSACTIONS)

    def case(name: str, write: Callable[[int], Awaitable[None]], transactions: int) -> Case:
        prepare = rivals.new_table_and_bodies if write == rivals.write_bare else rivals.new_table
        return Case(
            name, transactions * ENTITIES, lambda: in_flight(TRANSACTIONS_AT_ONCE, write, transactions), prepare
        )

    return await meter.compare(
        f"transactions of {ENTITIES}",
        unit="entity",
        subject=case("wire client", rivals.write, count),
        yardsticks=[
            case("bare HTTP", rivals.write_bare, count),
            case("azure-data-tables", rivals.write_with_sdk, meter.scaled(TRANSACTIONS // 4)),
        ],
        bars=[
            Bar(at_most=0.000_030, clock="cpu"),
            Bar(at_most=1 / 10, against="azure-data-tables", clock="cpu"),
            Bar(at_most=1 / 0.7, against="bare HTTP"),
        ],
    )


async def _reads(meter: Meter, rivals: Rivals) -> Measurement:
    await rivals.client.create_table(READ_TABLE)
    await rivals.client.transact(READ_TABLE, [Upsert(each) for each in entities(0)])
    count = meter.scaled(READS)

    def case(name: str, read: Callable[[int], Awaitable[None]]) -> Case:
        return Case(name, count, lambda: in_flight(CALLS_AT_ONCE, read, count))

    return await meter.compare(
        "point reads",
        unit="read",
        subject=case("wire client", rivals.read),
        yardsticks=[case("bare HTTP", rivals.read_bare), case("azure-data-tables", rivals.read_with_sdk)],
        bars=[
            Bar(at_most=1 / 0.7, against="bare HTTP"),
            Bar(at_most=1 / 2, against="azure-data-tables", clock="cpu"),
        ],
    )
