"""A world whose index is verified: facts in a container, a worker that applied them, and damage from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.keys.fact_key import encode_fact_key, fact_hash
from shared.entries.keys.index_keys import row_key
from shared.entries.projection.generations import place_of
from shared.pipeline.ledger.rows import LEDGER_TABLE, decode, encode, ledger_partition
from shared.tables.accounts import Accounts
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import Delete, Upsert, key_of
from shared.verification.assembly import (
    RepairOptions,
    Subject,
    VerificationDependencies,
    new_confirmer,
    new_sampling,
    new_verification,
)
from shared.verification.confirm import GracePeriod
from shared.verification.report import DifferenceReport
from shared.verification.verify import ScanState
from tests.worlds.kept_facts import FACT_TABLE, KeptFacts, kept_key, stored
from tests.worlds.world import TOWNS, World, services_on

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.entries.projection.generations import Generation
    from shared.pipeline.ledger.rows import CurrentEntry, LedgerRow
    from shared.tables.port import Operation, Tables

GRACE_SECONDS = 300


class VerifiedWorld(World):
    """Facts are written into the container and applied; then rows are damaged, verified and repaired."""

    def __init__(self, tables: Tables, text: str = TOWNS, source: str = "people", page_facts: int = 1000) -> None:
        super().__init__(tables, text, source)
        placed = [index.placement.accounts for index in self.definitions.indexes.values() if index.placement]
        # A second account of its own, whatever the first one is.
        others = {name: MemoryTables() for names in placed for name in names if name not in self.accounts.by_name}
        self.accounts = Accounts({**self.accounts.by_name, **others})
        self.restart()
        self.facts = KeptFacts(tables, page_facts)
        self.pauses: list[float] = []
        self.writes = 0

    async def create_tables(self) -> None:
        """Those of the pipeline, and the container."""
        await super().create_tables()
        for generation in self.plan.generations:
            for account, table in generation.tables():
                await self.accounts.tables(account).create_table(table)
        await self.tables.create_table(FACT_TABLE)

    async def write(self, fact: str, document: dict[str, Any]) -> None:
        """Write a fact into its container and apply the change."""
        await self.put_fact(fact, document)
        await self.apply(self.writer.change(fact, document, self.writes))

    async def put_fact(self, fact: str, document: dict[str, Any], seconds: int | None = None) -> None:
        """Write a fact into its container only."""
        self.writes += 1
        entity = stored(self.plan.source, fact, document, self.writes, seconds)
        await self.tables.transact(FACT_TABLE, [Upsert(entity)])

    async def apply_fact(self, fact: str) -> None:
        """Apply the change that the feed shows for a fact."""
        source = self.definitions.sources[self.plan.source]
        document = await self.facts.from_feed(source, fact, (fact,), 0)
        await self.apply(CosmosReader(source).latest(document))

    async def delete_fact(self, fact: str) -> None:
        """Delete a fact in its container, which the feed does not show."""
        await self.tables.transact(FACT_TABLE, [Delete(self.plan.source, kept_key(fact))])

    def dependencies(self) -> VerificationDependencies:
        """What a process that verifies has."""
        services = services_on(self.accounts, lambda: self.now_seconds, queue=self.queue, blobs=self.blobs)
        grace_period = GracePeriod(GRACE_SECONDS, 2, self._sleep)
        return VerificationDependencies(
            services, self.facts, grace_period, iter_chance().__next__, lambda: self.now_seconds, report_nothing
        )

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def generation(self, index: str) -> Generation:
        """The generation of an index."""
        return next(generation for generation in self.plan.generations if generation.index.name == index)

    def subject(self, index: str) -> Subject:
        """What is verified."""
        return Subject(self.plan, self.definitions.sources[self.plan.source], self.generation(index))

    async def verify(
        self, index: str = "by-town", *, repairs: bool = False, reconciles: bool = False
    ) -> DifferenceReport:
        """Verify everything, taking the state apart and together again between two pages."""
        state = ScanState()
        while state.phase != "done":
            verification = new_verification(
                self.subject(index), self.dependencies(), RepairOptions(repairs, reconciles), state
            )
            await verification.step()
            state = ScanState.of_plain(state.plain(), state.sketch.state())
        return state.report

    async def sample(self, size: int, index: str = "by-town") -> DifferenceReport:
        """Verify some facts."""
        report = DifferenceReport()
        confirmer = new_confirmer(self.subject(index), self.dependencies(), RepairOptions())
        await new_sampling(self.subject(index), self.dependencies()).run(size, confirmer, report)
        return report

    async def ledger_row(self, fact: str) -> LedgerRow:
        """The ledger row of a fact."""
        row = await self.tables.get(LEDGER_TABLE, *self._ledger_key(fact))
        assert row is not None
        return decode(row.entity)

    async def put_ledger_row(self, fact: str, row: LedgerRow | None) -> None:
        """Damage the ledger."""
        partition, key = self._ledger_key(fact)
        operation = Delete(partition, key) if row is None else Upsert(encode(row, partition, key))
        await self.tables.transact(LEDGER_TABLE, [operation])

    def _ledger_key(self, fact: str) -> tuple[str, str]:
        key = encode_fact_key((fact,), fact)
        return ledger_partition(self.plan.source, fact_hash(key), self.plan.buckets), key

    async def current(self, fact: str, index: str = "by-town") -> tuple[CurrentEntry, ...]:
        """The entries that the ledger has for a fact."""
        return (await self.ledger_row(fact)).states[self.generation(index).id].current

    async def entity_of(self, entry: CurrentEntry, index: str = "by-town") -> dict[str, Any]:
        """The row of an entry."""
        place = place_of(self.generation(index), entry.partition)
        tables = self.accounts.tables(place.account)
        row = await tables.get(place.table, entry.partition, row_key(entry.entry_key, entry.version))
        assert row is not None
        return dict(row.entity)

    async def delete_row(self, entry: CurrentEntry, index: str = "by-town") -> None:
        """Damage the table: take a row away."""
        await self._damage(index, Delete(entry.partition, row_key(entry.entry_key, entry.version)))

    async def put_row(self, entity: dict[str, Any], index: str = "by-town") -> None:
        """Damage the table: write a row."""
        await self._damage(index, Upsert(entity))

    async def remove(self, entity: dict[str, Any], index: str = "by-town") -> None:
        """Damage the table: take away the row with this entity's key."""
        await self._damage(index, Delete(entity["PartitionKey"], entity["RowKey"]))

    async def _damage(self, index: str, operation: Operation) -> None:
        place = place_of(self.generation(index), str(key_of(operation)[0]))
        await self.accounts.tables(place.account).transact(place.table, [operation])


def report_nothing(index: str, sample: int | None, report: Mapping[str, object]) -> None:
    """The end of a verification is not reported."""


def iter_chance() -> Any:
    """Numbers that look like chance and are the same every time."""
    value = 0.37
    while True:
        value = (value * 997 + 0.1) % 1
        yield value
