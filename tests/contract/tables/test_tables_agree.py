"""The Table service in memory and Azurite give the same answers to any sequence of calls."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from shared.errors import OperationFailedError
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import (
    Delete,
    EntityValue,
    Insert,
    Operation,
    Page,
    Replace,
    Row,
    RowRange,
    Tables,
    Upsert,
)
from tests.contract.tables.table_services import key_client

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from shared.tables.client import TableClient

T = TypeVar("T")

KEYS = ["", "a", "a'", "a😀", "a\ufb00", "b"]
keys = st.sampled_from(KEYS)
values: st.SearchStrategy[EntityValue] = st.one_of(
    st.sampled_from(["", "x", "12", "{}"]),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.booleans(),
    st.binary(max_size=4),
)
columns = st.dictionaries(st.sampled_from(["n", "m"]), values, max_size=2)
# What to do to a row, with which columns, and with which ETag: any, the newest, the one before, a foreign.
steps = st.tuples(
    st.sampled_from(["insert", "upsert", "replace", "delete"]),
    columns,
    st.sampled_from(["any", "newest", "older", "foreign"]),
)
transactions = st.dictionaries(keys, steps, min_size=1, max_size=4)
Step = tuple[str, dict[str, EntityValue], str]
Failure = tuple[int, str]


class Service:
    """One implementation, with the ETags that it has given for each key."""

    def __init__(self, tables: Tables, table: str) -> None:
        self.tables = tables
        self.table = table
        self._etags: dict[tuple[str, str], list[str]] = {}

    async def transact(self, partition: str, steps: dict[str, Step]) -> list[bool] | Failure:
        """Which operations gave an ETag, or which one failed and why."""
        operations = [self._operation(partition, row, step) for row, step in steps.items()]
        try:
            etags = await self.tables.transact(self.table, operations)
        except OperationFailedError as error:
            return error.index, error.reason
        for row, etag in zip(steps, etags, strict=True):
            if etag is not None:
                self._etags.setdefault((partition, row), []).append(etag)
        return [etag is not None for etag in etags]

    def _operation(self, partition: str, row: str, step: Step) -> Operation:
        kind, columns, which = step
        entity = {"PartitionKey": partition, "RowKey": row, **columns}
        etag = self._etag(partition, row, which)
        if kind == "insert":
            return Insert(entity)
        if kind == "upsert":
            return Upsert(entity)
        return Replace(entity, etag) if kind == "replace" else Delete(partition, row, etag)

    def _etag(self, partition: str, row: str, which: str) -> str:
        known = self._etags.get((partition, row), [])
        if which == "any":
            return "*"
        if which == "newest" and known:
            return known[-1]
        return known[-2] if which == "older" and len(known) > 1 else 'W/"foreign"'

    def seen(self, row: Row | None) -> tuple[object, bool] | None:
        """A row with, instead of its ETag, whether that is the newest one that this service gave for it."""
        if row is None:
            return None
        key = str(row.entity["PartitionKey"]), str(row.entity["RowKey"])
        return row.entity, row.etag == self._etags[key][-1]

    def page(self, page: Page) -> tuple[list[object], bool]:
        """A page without the texts of ETags and continuation."""
        return [self.seen(row) for row in page.rows], page.continuation is not None


class Agreement(RuleBasedStateMachine):
    """Sends every call to both services and compares what comes back."""

    runner: asyncio.Runner
    client: TableClient

    @initialize()
    def start(self) -> None:
        """A new table on both sides."""
        table = f"t{uuid.uuid4().hex}"
        self.memory, self.wire = Service(MemoryTables(), table), Service(self.client, table)
        for service in (self.memory, self.wire):
            self._run(service.tables.create_table(table))

    @rule(partition=st.sampled_from(["p", "p'"]), steps=transactions)
    def transact(self, partition: str, steps: dict[str, Step]) -> None:
        """Both take the transaction, or both refuse it at the same operation for the same reason."""
        expected = self._run(self.memory.transact(partition, steps))
        assert self._run(self.wire.transact(partition, steps)) == expected

    @rule(partition=st.sampled_from(["p", "p'"]), row=keys)
    def get(self, partition: str, row: str) -> None:
        """Both have the row, or neither has."""
        found = [
            service.seen(self._run(service.tables.get(service.table, partition, row)))
            for service in (self.memory, self.wire)
        ]
        assert found[0] == found[1]

    @rule(
        lower=st.none() | keys,
        upper=st.none() | keys,
        ends=st.tuples(st.booleans(), st.booleans()),
        limit=st.none() | st.integers(1, 3),
    )
    def query(self, lower: str | None, upper: str | None, ends: tuple[bool, bool], limit: int | None) -> None:
        """Both give the same pages."""
        self._compare(RowRange("p", lower, upper, *ends), limit)

    @rule(limit=st.none() | st.integers(1, 3))
    def query_all(self, limit: int | None) -> None:
        """Both give the same pages of the whole table."""
        self._compare(None, limit)

    def _compare(self, rows: RowRange | None, limit: int | None) -> None:
        memory, wire = (self._pages(service, rows, limit) for service in (self.memory, self.wire))
        assert memory == wire

    def _pages(self, service: Service, rows: RowRange | None, limit: int | None) -> list[object]:
        pages: list[object] = []
        continuation = None
        while True:
            page = self._run(service.tables.query(service.table, rows, limit=limit, continuation=continuation))
            pages.append(service.page(page))
            continuation = page.continuation
            if continuation is None:
                return pages

    def _run(self, call: Awaitable[T]) -> T:
        async def wait() -> T:
            return await call

        return self.runner.run(wait())

    def teardown(self) -> None:
        """At the end both hold the same rows."""
        self.query(None, None, (True, True), None)


@pytest.mark.parametrize(
    ("examples", "length"), [(25, 20), pytest.param(1000, 50, marks=pytest.mark.long)], ids=["short", "long"]
)
def test_memory_and_azurite_agree_on_any_sequence_of_calls(azurite: str, examples: int, length: int) -> None:
    """Transactions, reads and queries in any order, with current, stale and foreign ETags."""
    with asyncio.Runner() as runner:
        client = key_client(azurite)
        machine = type("OnAzurite", (Agreement,), {"runner": runner, "client": client})
        try:
            run_state_machine_as_test(
                machine,
                settings=settings(
                    max_examples=examples,
                    stateful_step_count=length,
                    deadline=None,
                    suppress_health_check=list(HealthCheck),
                ),
            )
        finally:
            runner.run(client.close())
