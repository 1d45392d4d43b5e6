"""A pipeline over three storage accounts, two of which may be down, or believed to be."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from shared.catalog.catalog import Catalog
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.entries.projection.generations import plan_of
from shared.errors import StorageUnavailableError
from shared.pipeline.account_calls import AccountLanes
from shared.pipeline.apply.delivery import Delivery
from shared.pipeline.concurrency import AtOnce
from shared.pipeline.ledger.debts import Debt, debts_of
from shared.pipeline.ledger.retention import Retention
from shared.pipeline.ledger.rows import LEDGER_TABLE, LedgerRow, bucket_partition, decode
from shared.tables.accounts import Accounts
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import RowRange, Upsert
from tests.worlds.kept_facts import FACT_TABLE, KeptFacts, stored_change
from tests.worlds.world import KeptMessages, Writer, definitions_of, nothing_listed, services_on, visible

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan
    from shared.pipeline.apply.batch import Applier
    from shared.pipeline.apply.services import Services
    from shared.pipeline.outcome import BatchOutcome
    from shared.tables.memory.calls import Call
    from shared.tables.memory.store import Store

T = TypeVar("T")
X, Y = "X", "Y"
# Homes from A to L are in account X, the others in account Y.
HOMES = """
version: 1
sources:
  people: {cosmos: {database: d, container: people}, partitionKey: id, deletes: {when: gone}}
indexes:
  by-home:
    source: people
    each: {home: homes}
    partition: home
    sort: name
    project: [phone]
    placement: {by: range, map: [{to: M, account: X}, {from: M, account: Y}]}
"""
TWO_INDEXES = HOMES + HOMES.partition("indexes:\n")[2].replace("by-home", "by-phone").replace(
    "project: [phone]", "project: [name]"
).replace("sort: name", "sort: phone")


class Died(BaseException):
    """A process ends here."""


class Wire:
    """The way to an account: refuses while it is down, and lets something happen before its next write."""

    def __init__(self) -> None:
        self.is_down = False
        self.is_believed_down = False
        self.before_write: Callable[[], Awaitable[None]] | None = None

    async def carry(self, call: Call[T], store: Store) -> T:
        if call.kind == "transact" and self.before_write is not None:
            hook, self.before_write = self.before_write, None
            await hook()
        if self.is_down:
            raise StorageUnavailableError("The account is down.", outcome_unknown=False)
        return call.perform(store)


class OutageWorld:
    """Workers, deliveries and a reader on three accounts."""

    def __init__(self, text: str = HOMES) -> None:
        self.wires = {DEFAULT_ACCOUNT: Wire(), X: Wire(), Y: Wire()}
        self.tables = {name: MemoryTables(carrier=wire) for name, wire in self.wires.items()}
        self.accounts = Accounts(self.tables)
        self.definitions = definitions_of(text)
        self.plan: SourcePlan = replace(plan_of(self.definitions, "people"), buckets=1)
        self.writer = Writer(self.definitions, "people")
        self.queue = KeptMessages()
        self.now_seconds = 1_800_000_000.0
        self.applier = self.new_process()

    async def create_tables(self) -> None:
        """The tables that a start-up would make."""
        for table in (LEDGER_TABLE, FACT_TABLE, "DeadLetters", "Tasks", "Catalog"):
            await self.tables[DEFAULT_ACCOUNT].create_table(table)
        for generation in self.plan.generations:
            for account, table in generation.tables():
                await self.tables[account].create_table(table)

    def services(self) -> Services:
        """What a process is connected to."""
        run_all = AtOnce()
        lanes = AccountLanes(run_all, time.monotonic, lambda account: self.wires[account].is_believed_down)
        services = services_on(self.accounts, lambda: self.now_seconds, queue=self.queue, run_all=run_all)
        return replace(services, lanes=lanes)

    def new_process(self) -> Applier:
        """A worker that remembers nothing."""
        return self.services().new_applier()

    def person(self, *homes: str, phone: str = "1") -> Change:
        """The next version of the only fact; without homes it is deleted."""
        return self.writer.change("f", {"homes": list(homes), "name": "n", "phone": phone} if homes else None)

    async def keep(self, change: Change) -> None:
        """The container has this version."""
        await self.tables[DEFAULT_ACCOUNT].transact(FACT_TABLE, [Upsert(stored_change(change))])

    async def apply(self, change: Change, plan: SourcePlan | None = None) -> BatchOutcome:
        """The feed brings a version to the process; the container has had it before."""
        if change.document is not None and change.source_etag is not None:
            await self.keep(change)
        return await self.applier.apply(plan or self.plan, [change])

    async def deliver(self, plan: SourcePlan | None = None) -> int:
        """Bring every account what it is owed."""

        async def plans() -> dict[str, SourcePlan]:
            return {"people": plan or self.plan}

        facts = KeptFacts(self.tables[DEFAULT_ACCOUNT])
        main = Catalog(self.tables[DEFAULT_ACCOUNT])
        return await Delivery(self.definitions, plans, self.services(), main, facts, time.monotonic).run()

    async def forget_deleted_facts(self) -> int:
        """The retention, after everything is old."""
        return await Retention(self.tables[DEFAULT_ACCOUNT], 0, lambda: self.now_seconds + 1, nothing_listed).clean(
            [self.plan]
        )

    def set_down(self, account: str, *, down: bool, believed: bool | None = None) -> None:
        """An account goes down or comes back; the processes know it, unless they believe otherwise."""
        self.wires[account].is_down = down
        self.wires[account].is_believed_down = down if believed is None else believed

    def shown(self, index: str = "by-home") -> dict[str, str]:
        """What a reader sees: a phone, or what else is projected, by home."""
        (table,) = {generation.table for generation in self.plan.generations if generation.index.name == index}
        found: dict[str, str] = {}
        for account in (X, Y):
            store = self.tables[account].store
            for partition in store.partition_keys(table):
                rows = [store.get(table, partition, key) for key in sorted(store.partition(table, partition))]
                for row in visible([row.entity for row in rows if row is not None]):
                    found[partition.removesuffix(" !")] = row.get("phone") or row["name"]
        return found

    async def ledger_row(self) -> LedgerRow:
        """What the ledger says of the fact."""
        (row,) = (await self._ledger(debts=False)).values()
        return decode(row)

    async def debts(self) -> list[Debt]:
        """What is owed."""
        page = await self.tables[DEFAULT_ACCOUNT].query(LEDGER_TABLE, debts_of(bucket_partition("people", 0)))
        return [Debt.of(row) for row in page.rows]

    async def _ledger(self, *, debts: bool) -> dict[str, dict[str, Any]]:
        page = await self.tables[DEFAULT_ACCOUNT].query(LEDGER_TABLE, RowRange(bucket_partition("people", 0)))
        rows = {str(row.entity["RowKey"]): row.entity for row in page.rows}
        return {key: row for key, row in rows.items() if key.startswith("  ") == debts}
