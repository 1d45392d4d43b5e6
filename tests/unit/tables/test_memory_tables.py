"""The Table service in memory as a simulator uses it: states that come back, calls that are carried."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

import pytest

from shared.errors import OperationFailedError, StorageUnavailableError
from shared.tables.memory.calls import Call, Query
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.memory.store import Store
from shared.tables.port import Delete, Entity, Insert, RowRange, Upsert

if TYPE_CHECKING:
    from shared.tables.port import EntityValue

T = TypeVar("T")


def entity(row: str, **columns: EntityValue) -> Entity:
    """A row of the only partition."""
    return {"PartitionKey": "p", "RowKey": row, **columns}


async def fresh(carrier: LosesAnswers | EmptyPages | HoldsBack | None = None) -> MemoryTables:
    """A service with one table."""
    store = Store()
    store.create("things")
    return MemoryTables(store, carrier)


class LosesAnswers:
    """Performs every call and loses the answer."""

    async def carry(self, call: Call[T], store: Store) -> T:
        call.perform(store)
        raise StorageUnavailableError("The answer is lost: try again.", outcome_unknown=True)


class EmptyPages:
    """Gives an empty page before every page, and pages of one row."""

    def __init__(self) -> None:
        self._empty = False

    async def carry(self, call: Call[T], store: Store) -> T:
        if call.kind != "query":
            return call.perform(store)
        self._empty = not self._empty
        return cast(T, replace(cast(Query, call), limit=0 if self._empty else 1).perform(store))


class HoldsBack:
    """Keeps every call for later."""

    def __init__(self) -> None:
        self.held: list[Call[object]] = []

    async def carry(self, call: Call[T], store: Store) -> T:
        self.held.append(call)
        return await asyncio.Event().wait()  # type: ignore[return-value]  # never returns


async def test_the_order_of_independent_writes_leaves_no_trace() -> None:
    """Two histories that lead to the same rows are one state."""
    first, second = await fresh(), await fresh()
    await first.transact("things", [Insert(entity("a", x=1, y=2))])
    await first.transact("things", [Insert(entity("b"))])
    await second.transact("things", [Insert(entity("b"))])
    await second.transact("things", [Insert(entity("a", y=2, x=1))])
    assert first.store.state() == second.store.state()
    assert hash(first.store.state()) == hash(second.store.state())


async def test_values_of_different_types_are_different_states() -> None:
    """Although Python calls some of them equal."""
    values: list[EntityValue] = [1, 1.0, True, "1", b"1"]
    states = set()
    for value in values:
        service = await fresh()
        await service.transact("things", [Insert(entity("a", x=value))])
        states.add(service.store.state())
    assert len(states) == 5


async def test_a_state_comes_back() -> None:
    """Rows, ETags and empty tables, as if nothing had happened since."""
    service = await fresh()
    (etag,) = await service.transact("things", [Insert(entity("a"))])
    before = service.store.state()
    await service.transact("things", [Delete("p", "a", str(etag)), Upsert(entity("b"))])
    await service.delete_table("things")
    service.store.restore(before)
    assert service.store.state() == before
    await service.transact("things", [Delete("p", "a", str(etag))])


async def test_a_row_that_is_read_can_be_changed_without_effect() -> None:
    """Readers get copies."""
    service = await fresh()
    await service.transact("things", [Insert(entity("a", n=1))])
    row = await service.get("things", "p", "a")
    assert row is not None
    row.entity["n"] = 2
    again = await service.get("things", "p", "a")
    assert again is not None
    assert again.entity["n"] == 1


async def test_an_etag_of_another_row_does_not_fit() -> None:
    """Even when both rows were written once."""
    service = await fresh()
    etag, _ = await service.transact("things", [Insert(entity("a")), Insert(entity("b"))])
    with pytest.raises(OperationFailedError):
        await service.transact("things", [Delete("p", "b", str(etag))])


async def test_a_carrier_can_lose_the_answer_of_a_call_that_landed() -> None:
    """The caller learns that it cannot know; the row is there."""
    service = await fresh(LosesAnswers())
    with pytest.raises(StorageUnavailableError):
        await service.transact("things", [Insert(entity("a"))])
    assert service.store.get("things", "p", "a") is not None


async def test_a_carrier_can_perform_a_call_after_its_caller_is_gone() -> None:
    """A late request: the worker is dead, its write lands all the same."""
    carrier = HoldsBack()
    service = await fresh(carrier)
    worker = asyncio.create_task(service.transact("things", [Insert(entity("a"))]))
    await asyncio.sleep(0)
    worker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await worker
    assert service.store.get("things", "p", "a") is None
    carrier.held[0].perform(service.store)
    assert service.store.get("things", "p", "a") is not None


async def test_short_and_empty_pages_lead_to_every_row() -> None:
    """The continuation after an empty page still stands before the rows to come."""
    service = await fresh(EmptyPages())
    await service.transact("things", [Insert(entity(row)) for row in "abc"])
    pages, continuation = [], None
    for _ in range(6):
        page = await service.query("things", RowRange("p"), continuation=continuation)
        pages.append([row.entity["RowKey"] for row in page.rows])
        continuation = page.continuation
    assert pages == [[], ["a"], [], ["b"], [], ["c"]]
    assert continuation is None
