"""A worker learns of a new generation before a batch, within a bounded time, for one query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from shared.app.parts import Parts
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.errors import SettingError
from shared.pipeline.apply.services import Times
from shared.tables.accounts import Accounts
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.world import TOWNS, definitions_of, services_on

if TYPE_CHECKING:
    from shared.pipeline.apply.worker import Worker

REFRESH_SECONDS = 30
CHANGED = TOWNS.replace("sort: name", "sort: phone")


class World:
    """Workers of two deployments on one storage, and a clock."""

    def __init__(self) -> None:
        self.tables = MemoryTables()
        self.seconds = 1_800_000_000.0
        self.facts = 0
        self.others: dict[str, MemoryTables] = {}

    async def worker(self, text: str) -> Worker:
        accounts = Accounts({DEFAULT_ACCOUNT: self.tables, **self.others})
        times = Times(refresh_seconds=REFRESH_SECONDS, build_delay_seconds=100)
        services = services_on(accounts, lambda: self.seconds, times=times)
        return (await Parts(definitions_of(text), services).ready()).worker

    async def apply(self, worker: Worker) -> int:
        """A batch of one new fact; how many tables have got it."""
        self.facts += 1
        name = f"n{self.facts}"
        fact: dict[str, Any] = {"id": name, "town": "X", "name": name, "phone": "p", "_ts": self.facts, "_lsn": 1}
        before = self._entries()
        await worker.apply_latest("people", [fact])
        return self._entries() - before

    def _entries(self) -> int:
        counts = self.tables.counts.by_table_and_kind().items()
        return sum(count for (table, kind), count in counts if kind == "transact" and table.startswith("bytown"))


async def test_a_worker_writes_to_what_another_deployment_registered() -> None:
    """Not before it reads the catalog again; at the bound at the latest."""
    world = World()
    old = await world.worker(TOWNS)
    assert await world.apply(old) == 1
    await world.worker(CHANGED)
    world.seconds += REFRESH_SECONDS - 1
    assert await world.apply(old) == 1
    world.seconds += 1
    assert await world.apply(old) == 2


async def test_the_catalog_is_read_once_in_that_time() -> None:
    """Whatever number of batches there are."""
    world = World()
    worker = await world.worker(TOWNS)

    def reads() -> int:
        return world.tables.counts.by_table_and_kind().get(("Catalog", "query"), 0)

    before = reads()
    for _ in range(10):
        await world.apply(worker)
    assert reads() == before
    world.seconds += REFRESH_SECONDS
    for _ in range(10):
        await world.apply(worker)
    assert reads() == before + 1


async def test_a_clock_that_goes_back_keeps_no_old_view() -> None:
    """The age of the plans is unknown then."""
    world = World()
    old = await world.worker(TOWNS)
    await world.apply(old)
    await world.worker(CHANGED)
    world.seconds -= 1000
    assert await world.apply(old) == 2


async def test_an_index_that_left_the_file_with_its_account_holds_nothing_up() -> None:
    """Writes to it are impossible; it waits to be retired. An index that is still defined must be reachable."""
    world = World()
    placed = TOWNS.replace("project: [phone]", "project: [phone], placement: {by: hash, accounts: [SOUTH]}")
    world.others["SOUTH"] = MemoryTables()
    assert await world.apply(await world.worker(placed.replace("by-town", "by-place"))) == 0
    del world.others["SOUTH"]
    assert await world.apply(await world.worker(TOWNS)) == 1
    with pytest.raises(SettingError, match="SOUTH"):
        await world.worker(placed)
