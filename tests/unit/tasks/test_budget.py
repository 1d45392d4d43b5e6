"""A budget lets so many storage transactions pass per second, and counts them."""

from __future__ import annotations

import asyncio

import pytest

from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import Insert, RowRange
from shared.tasks.budget import Budget, Metered


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds = max(self.seconds, self.seconds + seconds)


@pytest.mark.parametrize("per_second", [1, 50, 0.5])
async def test_so_many_pass_in_a_second(per_second: float) -> None:
    """However fast they come."""
    clock = Clock()
    budget = Budget(per_second, clock.now, clock.sleep)
    for _ in range(101):
        await budget.spend()
    assert clock.seconds == pytest.approx(100 / per_second)
    assert budget.spent == 101


async def test_what_was_not_used_for_long_is_no_flood() -> None:
    """A second's worth may be made up for."""
    clock = Clock()
    budget = Budget(10, clock.now, clock.sleep)
    await budget.spend()
    clock.seconds = 1000.0
    for _ in range(21):
        await budget.spend()
    assert clock.seconds == pytest.approx(1001.0)


async def test_without_a_limit_nobody_waits() -> None:
    """They are counted all the same."""
    clock = Clock()
    budget = Budget(None, clock.now, clock.sleep)
    await asyncio.gather(*[budget.spend() for _ in range(100)])
    assert (clock.seconds, budget.spent) == (0.0, 100)


async def test_every_request_through_metered_tables_counts() -> None:
    """Each is one transaction to pay for."""
    budget = Budget(None, lambda: 0.0, asyncio.sleep)
    tables = Metered(MemoryTables(), budget)
    await tables.create_table("Things")
    await tables.transact("Things", [Insert({"PartitionKey": "p", "RowKey": "r"})])
    assert await tables.get("Things", "p", "r") is not None
    assert len((await tables.query("Things", RowRange("p"))).rows) == 1
    assert await tables.delete_table("Things")
    assert budget.spent == 5
