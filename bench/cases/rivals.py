"""Three ways to the same rows on one Azurite: the pipeline, raw transactions, and the obvious way with the SDK.

Every round starts with no tables at all, because Azurite slows down with the size of a table.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from azure.core.exceptions import ResourceNotFoundError
from azure.data.tables import UpdateMode
from azure.data.tables.aio import TableServiceClient

from bench.cases.facts import CUSTOMERS_YAML
from bench.cases.in_flight import CALLS_AT_ONCE, TRANSACTIONS_AT_ONCE, in_flight
from bench.cases.pipeline import BATCH, Pipeline
from bench.cases.recording import recorded, recorded_in_batches
from bench.measure.case import Case
from bench.processes.servers import azurite_serving
from shared.app.world import TIMING
from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.projection.generations import plan_of
from shared.entries.rows.entry_row import live_row
from shared.tables.client import TableClient
from shared.tables.wire.account import Account

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from bench.cases.facts import Fact
    from bench.cases.recording import Transactions

PIPELINE, RAW, OBVIOUS = "the pipeline", "raw transactions", "the obvious way"
RAW_IN_BATCHES = "raw transactions, batch by batch"


@dataclass(frozen=True, slots=True)
class Scenario:
    """Changes that are measured, and those that came before; each made for a number of facts."""

    name: str
    changes: Callable[[int], Sequence[Fact]]
    before: Callable[[int], Sequence[Fact]] = lambda _: ()
    yaml: str = CUSTOMERS_YAML
    batch: int = BATCH


class Storage:
    """One Azurite with our client and the SDK's."""

    def __init__(self, client: TableClient, sdk: TableServiceClient) -> None:
        self.client = client
        self.sdk = sdk

    async def empty(self) -> None:
        """Delete every table."""
        for table in [table.name async for table in self.sdk.list_tables()]:
            await self.sdk.delete_table(table)

    async def prepared(self, yaml: str) -> Pipeline:
        """A pipeline on empty tables."""
        await self.empty()
        pipeline = Pipeline(yaml, self.client)
        await pipeline.prepare()
        return pipeline

    async def write(self, transactions: Transactions) -> None:
        """Send them all, without thinking."""

        async def send(number: int) -> None:
            await self.client.transact(*transactions[number])

        await in_flight(TRANSACTIONS_AT_ONCE, send, len(transactions))


@asynccontextmanager
async def storage_serving() -> AsyncIterator[Storage]:
    """An Azurite for the length of the block."""
    async with azurite_serving() as connection_string, connected(connection_string) as storage:
        yield storage


@asynccontextmanager
async def connected(connection_string: str) -> AsyncIterator[Storage]:
    """Clients of an Azurite that is already there."""
    account = Account.from_connection_string(connection_string)
    async with (
        TableClient(account, TIMING) as client,
        TableServiceClient.from_connection_string(connection_string) as sdk,
    ):
        yield Storage(client, sdk)


def pipeline_case(storage: Storage, scenario: Scenario, count: int) -> Case:
    """The product itself, with the cache of a worker that has applied what came before."""
    changes, state = scenario.changes(count), _State()

    async def prepare() -> None:
        state.pipeline = await storage.prepared(scenario.yaml)
        await state.pipeline.apply(scenario.before(count))

    async def run() -> dict[str, int]:
        sent = storage.client.counts.total()
        messages = len(state.pipeline.queue.messages)
        await state.pipeline.apply(changes, scenario.batch)
        return {
            "transactions": storage.client.counts.total() - sent,
            "sweep messages": len(state.pipeline.queue.messages) - messages,
        }

    return Case(PIPELINE, len(changes), run, prepare)


def sweep_case(storage: Storage, scenario: Scenario, count: int) -> Case:
    """Removing the tombstones that the scenario has left."""
    changes, state = scenario.changes(count), _State()

    async def prepare() -> None:
        state.pipeline = await storage.prepared(scenario.yaml)
        await state.pipeline.apply(scenario.before(count))
        await state.pipeline.apply(changes, scenario.batch)

    async def run() -> dict[str, int]:
        sent = storage.client.counts.total()
        await state.pipeline.sweep()
        return {"transactions": storage.client.counts.total() - sent}

    return Case("the sweeper", len(changes), run, prepare)


def raw_case(storage: Storage, scenario: Scenario, count: int) -> Case:
    """The rows that the pipeline writes, in full transactions by a bare loop."""
    before, changes, state = scenario.before(count), scenario.changes(count), _State()

    async def prepare() -> None:
        await storage.prepared(scenario.yaml)
        first, state.transactions = await recorded(scenario.yaml, before, changes, scenario.batch)
        await storage.write(first)

    async def run() -> dict[str, int]:
        await storage.write(state.transactions)
        return {"transactions": len(state.transactions)}

    return Case(RAW, len(changes), run, prepare)


def raw_batches_case(storage: Storage, scenario: Scenario, count: int) -> Case:
    """The same rows, when those of a batch are written before those of the next one are known."""
    before, changes, state = scenario.before(count), scenario.changes(count), _State()

    async def prepare() -> None:
        await storage.prepared(scenario.yaml)
        first, state.batches = await recorded_in_batches(scenario.yaml, before, changes, scenario.batch)
        await storage.write(first)

    async def run() -> dict[str, int]:
        for transactions in state.batches:
            await storage.write(transactions)
        return {"transactions": sum(map(len, state.batches))}

    return Case(RAW_IN_BATCHES, len(changes), run, prepare)


def obvious_case(storage: Storage, scenario: Scenario, count: int) -> Case:
    """One read and one upsert for each index and fact, as public samples do; facts are projected before."""
    changes, state = scenario.changes(count), _State()

    async def prepare() -> None:
        pipeline = await storage.prepared(scenario.yaml)
        state.rows = _rows(pipeline, changes)

    async def upsert(number: int) -> None:
        table, row = state.rows[number]
        client = storage.sdk.get_table_client(table)
        with suppress(ResourceNotFoundError):
            await client.get_entity(row["PartitionKey"], row["RowKey"])
        await client.upsert_entity(row, mode=UpdateMode.REPLACE)

    async def run() -> dict[str, int]:
        await in_flight(CALLS_AT_ONCE, upsert, len(state.rows))
        return {"transactions": 2 * len(state.rows)}

    return Case(OBVIOUS, len(changes), run, prepare)


def _rows(pipeline: Pipeline, changes: Sequence[Fact]) -> list[tuple[str, dict[str, Any]]]:
    plan = plan_of(pipeline.definitions, pipeline.source)
    reader = CosmosReader(pipeline.definitions.sources[pipeline.source])
    return [
        (generation.table, live_row(entry.partition_key, entry.entry_key, "", entry.columns))
        for change in map(reader.latest, changes)
        for generation in plan.generations
        for entry in generation.projector.project(change)
    ]


class _State:
    """What one round's `prepare` leaves for its `run`."""

    pipeline: Pipeline
    transactions: Transactions
    batches: list[Transactions]
    rows: list[tuple[str, dict[str, Any]]]
