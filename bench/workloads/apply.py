"""What applying a change to three indexes costs on Azurite, against raw transactions with the same rows and the SDK."""

from __future__ import annotations

import itertools
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from azure.core.exceptions import ResourceNotFoundError
from azure.data.tables import UpdateMode
from azure.data.tables.aio import TableServiceClient

from bench.case import Case
from bench.measurement import Bar
from bench.processes import azurite_serving
from bench.workloads.projection import CUSTOMER, DEFINITIONS
from bench.workloads.tables import in_flight
from shared.connections import TIMING
from shared.definitions.load import load
from shared.keys.placement import DEFAULT_ACCOUNT
from shared.pipeline.concurrency import Bounded
from shared.pipeline.generations import plan_of
from shared.pipeline.storage import Accounts
from shared.pipeline.worker import Services, Worker
from shared.projection.cosmos import CosmosReader
from shared.projection.rows import live_row
from shared.tables.account import Account
from shared.tables.client import TableClient
from shared.tables.memory import MemoryTables
from shared.tables.port import Upsert

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.measurement import Measurement
    from bench.meter import Meter
    from shared.tables.calls import Call
    from shared.tables.port import Tables
    from shared.tables.store import Store

T = TypeVar("T")

NAME = "apply"
FACTS = 3_000
# The SDK is slow: fewer facts say as much.
SDK_FACTS = 60
BATCH = 1_000
TRANSACTIONS_AT_ONCE = 4
SDK_CALLS_AT_ONCE = 16
ENTITIES = 100
TOWNS, NAMES, SEGMENTS = 8, 8, 4
CPU_SECONDS_MAX = 0.000_250


def documents(count: int) -> list[dict[str, Any]]:
    """Customers of 1 KB each, in 20 index partitions, as the change feed delivers them."""
    return [
        {
            **CUSTOMER,
            "id": f"c-{number:06}",
            "customerId": f"c-{number:06}",
            "town": f"town {number % TOWNS}",
            "lastName": f"name {number % NAMES}",
            "segment": f"segment {number % SEGMENTS}",
            "_ts": 1_700_000_000,
            "_lsn": number,
            "_etag": f'"{number:032x}"',
        }
        for number in range(count)
    ]


class NoQueue:
    """Nothing is removed here, so nothing is swept."""

    async def send(self, message: str) -> None:
        """Never called."""


class NoBlobs:
    """No document is too large here."""

    async def put(self, name: str, content: bytes) -> None:
        """Never called."""

    async def delete(self, name: str) -> None:
        """Never called."""


class Recorder:
    """Remembers what is written to an in-memory service."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], list[Upsert]] = {}

    async def carry(self, call: Call[T], store: Store) -> T:
        """Perform the call; nothing is deleted here."""
        for operation in getattr(call, "operations", ()):
            place = (call.table, str(operation.entity["PartitionKey"]))
            self.rows.setdefault(place, []).append(Upsert(operation.entity))
        return call.perform(store)

    def transactions(self) -> list[tuple[str, list[Upsert]]]:
        """Everything, in as few transactions as possible."""
        return [
            (table, rows[start : start + ENTITIES])
            for (table, _), rows in self.rows.items()
            for start in range(0, len(rows), ENTITIES)
        ]


class Rivals:
    """Three ways to the same rows on one Azurite. Each round has a source, and so tables, of its own."""

    def __init__(self, client: TableClient, sdk: TableServiceClient, rounds: Iterator[int]) -> None:
        self._client = client
        self._sdk = sdk
        self._rounds = rounds

    async def new_round(self) -> None:
        """New definitions, their tables, and a worker that has seen nothing."""
        self._source = f"customers{next(self._rounds)}"
        self._definitions = load(DEFINITIONS.replace("customers", self._source), "bench").require()
        self._worker = self._worker_on(self._client)
        await self._worker.prepare()

    def _worker_on(self, tables: Tables) -> Worker:
        accounts = Accounts({DEFAULT_ACCOUNT: tables})
        services = Services(accounts, NoBlobs(), NoQueue(), Bounded(), Bounded(), time.time, 0, lambda: 0)
        return Worker(self._definitions, services)

    async def apply(self, count: int) -> dict[str, int]:
        """The pipeline, in batches as the trigger delivers them."""
        before = self._client.counts.total()
        await self._apply_with(self._worker, count)
        return {"transactions": self._client.counts.total() - before}

    async def _apply_with(self, worker: Worker, count: int) -> None:
        facts = documents(count)
        for start in range(0, count, BATCH):
            await worker.apply_latest(self._source, facts[start : start + BATCH])

    async def new_raw_round(self, count: int) -> None:
        """The rows that the pipeline writes, ready to be sent."""
        await self.new_round()
        recorder = Recorder()
        worker = self._worker_on(MemoryTables(carrier=recorder))
        await worker.prepare()
        recorder.rows.clear()  # the catalog's
        await self._apply_with(worker, count)
        self._transactions = recorder.transactions()

    async def write_raw(self) -> dict[str, int]:
        """The same rows in full transactions, without thinking."""

        async def send(number: int) -> None:
            await self._client.transact(*self._transactions[number])

        await in_flight(TRANSACTIONS_AT_ONCE, send, len(self._transactions))
        return {"transactions": len(self._transactions)}

    async def new_obvious_round(self, count: int) -> None:
        """The same facts, read and projected before: only storage is compared."""
        await self.new_round()
        plan = plan_of(self._definitions, self._source)
        reader = CosmosReader(self._definitions.sources[self._source])
        self._entities = [
            (generation.table, live_row(entry.partition_key, entry.pair, "", entry.columns))
            for change in map(reader.latest, documents(count))
            for generation in plan.generations
            for entry in generation.projector.project(change)
        ]

    async def write_obviously(self) -> None:
        """One read and one upsert for each index and fact, with the SDK."""

        async def upsert(number: int) -> None:
            table, row = self._entities[number]
            client = self._sdk.get_table_client(table)
            with suppress(ResourceNotFoundError):
                await client.get_entity(row["PartitionKey"], row["RowKey"])
            await client.upsert_entity(row, mode=UpdateMode.REPLACE)

        await in_flight(SDK_CALLS_AT_ONCE, upsert, len(self._entities))


async def measure(meter: Meter) -> list[Measurement]:
    """Bulk insert of facts that the ledger does not know."""
    count, few = meter.scaled(FACTS), meter.scaled(SDK_FACTS)
    async with azurite_serving() as connection_string:
        account = Account.from_connection_string(connection_string)
        async with (
            TableClient(account, TIMING) as client,
            TableServiceClient.from_connection_string(connection_string) as sdk,
        ):
            rounds = itertools.count()
            ours, raw, obvious = (Rivals(client, sdk, rounds) for _ in range(3))
            return [
                await meter.compare(
                    "bulk insert into 20 partitions",
                    unit="fact",
                    subject=Case("pipeline", count, lambda: ours.apply(count), ours.new_round),
                    yardsticks=[
                        Case("raw transactions", count, raw.write_raw, lambda: raw.new_raw_round(count)),
                        Case("azure-data-tables", few, obvious.write_obviously, lambda: obvious.new_obvious_round(few)),
                    ],
                    bars=[
                        Bar(at_most=1 / 0.7, against="raw transactions"),
                        Bar(at_most=1 / 10, against="azure-data-tables"),
                        Bar(at_most=CPU_SECONDS_MAX, clock="cpu"),
                    ],
                )
            ]
