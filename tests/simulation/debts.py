"""Histories with an account that is down: the programs around it, and what must hold in the end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from shared.catalog.catalog import Catalog
from shared.entries.projection.generations import plan_of
from shared.errors import IncompleteBatchError
from shared.pipeline.apply.delivery import Delivery
from shared.pipeline.ledger.retention import Retention
from shared.pipeline.ledger.rows import LEDGER_TABLE, bucket_partition, decode
from shared.tables.memory.store import Store, as_row
from shared.tables.port import Upsert
from tests.simulation.outages import believed_down, end_outages
from tests.simulation.programs import NOW_SECONDS, StoppingQueue, accounts, new_process
from tests.simulation.scenario import Scenario
from tests.simulation.steps import Ended, Run, finish, interleaved
from tests.worlds.kept_facts import FACT_TABLE, KeptFacts, stored_change
from tests.worlds.world import TOWNS, definitions_of, nothing_listed, services_on

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shared.catalog.owed_accounts import OwedAccount
    from shared.definitions.model import Definitions
    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan
    from tests.simulation.steps import Program

X, Y = "X", "Y"
# Towns from A to L are in account X, the others in account Y.
PLACED = TOWNS.replace(
    "project: [phone]",
    "project: [phone], placement: {by: range, map: [{to: M, account: X}, {from: M, account: Y}]}",
)
SEVERAL = PLACED.replace("partition: town", "each: {home: towns}, partition: home")
DEFINITIONS = definitions_of(PLACED)
PLAN: SourcePlan = replace(plan_of(DEFINITIONS, "people"), buckets=1)
MANY: SourcePlan = replace(plan_of(definitions_of(SEVERAL), "people"), buckets=1)


class _NoView(Catalog):
    """What operators see is no part of the histories."""

    async def note_owed(self, owed: Mapping[str, OwedAccount]) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True)
class Process:
    """A worker that asks before each batch which accounts are down."""

    plan: SourcePlan
    batches: tuple[tuple[Change, ...], ...]
    attempts: int = 2
    is_redelivered: ClassVar[bool] = True

    async def __call__(self) -> None:
        """Apply everything, each batch in a few attempts."""
        believed: set[str] = set()
        applier = new_process(down=believed)
        applier._claimer.insert_or_read.observe(existing=10, absent=0)
        for batch in self.batches:
            for attempt in range(1, self.attempts + 1):
                believed.clear()
                believed |= await believed_down(X)
                try:
                    await applier.apply(self.plan, batch)
                    break
                except IncompleteBatchError:
                    if attempt == self.attempts:
                        raise

    def __str__(self) -> str:
        versions = ["+".join(change.version[30:35].lstrip("0") for change in batch) for batch in self.batches]
        return f"process({', '.join(versions)})"


@dataclass(frozen=True, slots=True)
class Deliver:
    """The timer that brings accounts what they are owed."""

    plan: SourcePlan
    definitions: Definitions = DEFINITIONS
    clock: Callable[[], float] = lambda: NOW_SECONDS
    is_redelivered: ClassVar[bool] = False

    async def __call__(self) -> int:
        """One run; how many facts were delivered."""

        async def plans() -> dict[str, SourcePlan]:
            return {self.plan.source: self.plan}

        reached = accounts()
        services = services_on(reached, self.clock, queue=StoppingQueue(), run_all=interleaved)
        facts = KeptFacts(reached.main)
        return await Delivery(self.definitions, plans, services, _NoView(reached.main), facts, lambda: 0.0).run()

    def __str__(self) -> str:
        return "delivery"


@dataclass(frozen=True, slots=True)
class Forget:
    """The retention, long after the facts were deleted."""

    plan: SourcePlan
    is_redelivered: ClassVar[bool] = False

    async def __call__(self) -> None:
        """One run."""
        await Retention(accounts().main, 0, lambda: NOW_SECONDS + 1, nothing_listed).clean([self.plan])

    def __str__(self) -> str:
        return "retention"


@dataclass(frozen=True, slots=True)
class WriteFact:
    """The application writes a newer version of the fact."""

    change: Change
    is_redelivered: ClassVar[bool] = False

    async def __call__(self) -> None:
        """Into the container."""
        await accounts().main.transact(FACT_TABLE, [Upsert(stored_change(self.change))])

    def __str__(self) -> str:
        return "application"


@dataclass(frozen=True, slots=True)
class OutageScenario(Scenario):
    """In the end every account answers, what was not acknowledged comes again, and all debts are paid."""

    definitions: Definitions = DEFINITIONS
    # The version that the container has in the beginning; by default the newest.
    at_source: Change | None = None
    # What comes after everything else, when nothing else runs: it may delete ledger rows.
    last: tuple[Program, ...] = ()

    def start(self) -> tuple[Store, tuple[Program, ...]]:
        """With the container."""
        store, programs = Scenario.start(self)
        _write_fact(store, self.at_source or self.changes[-1])
        return store, programs

    def settle(self, store: Store, unfinished: tuple[Program, ...]) -> None:
        """One acknowledgement of a version is enough: it does not come again for another worker."""
        end_outages(store)
        _write_fact(store, self.changes[-1])
        acknowledged = list(self.programs)
        for program in unfinished:
            if program in acknowledged:
                acknowledged.remove(program)
        seen = {change.version for program in acknowledged for change in _changes_of(program)}
        missing = [program for program in unfinished if {change.version for change in _changes_of(program)} - seen]
        Scenario.settle(self, store, tuple(missing))
        self._deliver(store)

    def problem(self, store: Store) -> str | None:
        """The indexes are right before and after the sweep, and after everything comes once more; nothing is owed."""
        if text := debts_in(store, self.plan) or Scenario.problem(self, store):
            return text
        for program in self.last:
            _succeed(program, store)
        _succeed(Process(self.plan, tuple((change,) for change in self.changes)), store)
        self._deliver(store)
        return debts_in(store, self.plan) or Scenario.problem(self, store)

    def _deliver(self, store: Store) -> None:
        for _ in range(2):
            _succeed(Deliver(self.plan, self.definitions), store)


def debts_in(store: Store, plan: SourcePlan) -> str | None:
    """What is owed still; None for nothing."""
    for bucket in range(plan.buckets):
        partition = bucket_partition(plan.source, bucket)
        rows = store.partition(LEDGER_TABLE, partition)
        for key, value in rows.items():
            row = as_row((LEDGER_TABLE, partition, key), value)
            if row is None:
                continue
            if key.startswith("  "):
                return f"a debt is left: {key}"
            if any(state.owed for name, state in decode(row.entity).states.items() if name not in plan.retired):
                return f"a ledger row owes: {key}"
    return None


def _changes_of(program: Program) -> tuple[Change, ...]:
    batches: Any = getattr(program, "batches", ())
    return tuple(change for batch in batches for change in batch)


def _write_fact(store: Store, change: Change) -> None:
    store.create(FACT_TABLE)
    if change.document is not None:
        _succeed(WriteFact(change), store)


def _succeed(program: Program, store: Store) -> None:
    end: Ended = finish(Run(program), store)
    if end.error is not None:
        raise end.error
