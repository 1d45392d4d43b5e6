"""A deleted fact is forced out while its delete is still on its way: what leads to the rest stays with the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from shared.app.parts import Parts
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.entries.summaries.rows import CONTRIBUTIONS
from shared.erasure.remains import FactAddress
from shared.errors import IncompleteBatchError, StorageUnavailableError
from shared.tables.accounts import Accounts
from shared.tables.memory.calls import Transact
from shared.tables.memory.memory_tables import DirectCarrier, MemoryTables
from shared.tables.port import Delete, Upsert
from tests.worlds.world import definitions_of, services_on

if TYPE_CHECKING:
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store

DEFINITIONS = """
version: 1
sources:
  people: {cosmos: {database: d, container: people}, partitionKey: id, deletes: {when: gone}}
indexes:
  by-town: {source: people, partition: town, project: keys}
  per-town: {source: people, partition: town, summarize: {people: facts}}
"""
ENTRIES, TOTALS = "bytown", "pertown"
FACT = FactAddress("people", "a", ("a",))


class Way(DirectCarrier):
    """To storage: refuses the writes of a summary, or changes or drops what is about to be deleted from."""

    def __init__(self) -> None:
        self.refuses_totals = False
        self.changes_before_delete = ""
        self.drops_before_delete = ""

    async def carry(self, call: Call[Any], store: Store) -> Any:
        """Carry it out at once."""
        if isinstance(call, Transact):
            if self.refuses_totals and call.table.startswith(TOTALS):
                raise StorageUnavailableError("The partition is busy.", outcome_unknown=False)
            if self.drops_before_delete and call.table.startswith(self.drops_before_delete):
                store.drop(call.table)
            if self.changes_before_delete and call.table.startswith(self.changes_before_delete):
                for delete in [each for each in call.operations if isinstance(each, Delete)]:
                    row = store.get(call.table, delete.partition, delete.row)
                    assert row is not None
                    Transact(call.table, (Upsert(row.entity),)).perform(store)
        return await super().carry(call, store)


class App:
    """An app in memory."""

    def __init__(self) -> None:
        self.way = Way()
        self.tables = MemoryTables(carrier=self.way)
        self.sent = 0

    async def parts(self) -> Parts:
        """Those of a process that has just started."""
        services = services_on(Accounts({DEFAULT_ACCOUNT: self.tables}), lambda: 1_800_000_000.0)
        return await Parts(definitions_of(DEFINITIONS), services).ready()

    async def write(self, version: int, **document: Any) -> None:
        """A version of the fact arrives at a worker that has just started."""
        shown = {"id": "a", "_ts": 1_800_000_000, "_lsn": version, "_etag": f'"{version}"', **document}
        await (await self.parts()).worker.apply_latest("people", [shown])

    async def erase(self) -> list[str]:
        """Force the fact out; where something of it is left."""
        return [remnant.place for remnant in (await (await self.parts()).eraser.erase(FACT)).remnants]

    async def totals(self) -> int:
        """How many totals there are: none without a fact that counts."""
        (table,) = await self.tables.list_tables(TOTALS)
        page = await self.tables.query(table, None)
        return sum(str(row.entity["RowKey"]) < CONTRIBUTIONS for row in page.rows)


async def test_a_contribution_that_still_counts_keeps_what_leads_to_it() -> None:
    """The delete is claimed, and the summary was not told yet: the worker that comes again must know where."""
    app = App()
    await app.write(1, town="T")
    assert await app.totals() == 1
    app.way.refuses_totals = True
    with pytest.raises(IncompleteBatchError):
        await app.write(2, gone=True)
    assert await app.erase() == ["ledger", "indexTable"]
    app.way.refuses_totals = False
    await app.write(2, gone=True)
    assert await app.totals() == 0
    assert await app.erase() == []


async def test_a_row_that_changes_meanwhile_keeps_what_leads_to_it() -> None:
    """A worker wrote it again: it stays, and the next call finds it."""
    app = App()
    await app.write(1, town="T")
    await app.write(2, gone=True)
    app.way.changes_before_delete = ENTRIES
    assert await app.erase() == ["ledger", "indexTable"]
    app.way.changes_before_delete = ""
    assert await app.erase() == []


async def test_a_table_that_goes_meanwhile_keeps_nothing() -> None:
    """Its rows go with it."""
    app = App()
    await app.write(1, town="T")
    await app.write(2, gone=True)
    app.way.drops_before_delete = ENTRIES
    assert await app.erase() == []
