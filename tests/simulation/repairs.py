"""Programs around repair: a container whose facts change, an outsider that damages rows, and the repairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.entries.keys.fact_key import encode_fact_key
from shared.tables.port import Delete, Upsert
from shared.verification.assembly import (
    RepairOptions,
    Subject,
    VerificationDependencies,
    new_confirmer,
    new_verification,
)
from shared.verification.confirm import GracePeriod
from shared.verification.examine import FactIdentity
from shared.verification.repair import Repairer
from shared.verification.verify import ScanState
from tests.simulation.programs import NOW_SECONDS, StoppingQueue, accounts
from tests.simulation.steps import interleaved
from tests.worlds.kept_facts import FACT_TABLE, KeptFacts, kept_key, stored_change
from tests.worlds.verifying import report_nothing
from tests.worlds.world import services_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.definitions.model import Source
    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan
    from shared.tables.port import Operation
    from shared.verification.examine import EntryAddress
    from tests.simulation.programs import Worker


@dataclass(frozen=True, slots=True)
class Put:
    """The application writes facts into the container; None deletes a fact there, which the feed does not show."""

    change: Change | None
    fact: str = "f"
    source: str = "people"

    async def __call__(self) -> None:
        """One write."""
        tables = accounts().main
        await tables.create_table(FACT_TABLE)
        if self.change is not None:
            await tables.transact(FACT_TABLE, [Upsert(stored_change(self.change))])
        else:
            await tables.transact(FACT_TABLE, [Delete(self.source, kept_key(self.fact))])

    def __str__(self) -> str:
        return "application"


@dataclass(frozen=True, slots=True)
class PutAndApply:
    """The application writes a fact, and only then does a worker get its change."""

    put: Put
    worker: Worker

    async def __call__(self) -> None:
        """Both, one after the other."""
        await self.put()
        await self.worker()

    def __str__(self) -> str:
        return f"application and {self.worker}"


@dataclass(frozen=True, slots=True)
class Damage:
    """An outsider changes rows of a table."""

    table: str
    operations: tuple[Operation, ...]

    async def __call__(self) -> None:
        """Each change by itself."""
        for operation in self.operations:
            await accounts().main.transact(self.table, [operation])

    def __str__(self) -> str:
        return "damage"


@dataclass(frozen=True, slots=True)
class Repair:
    """Repairs one suspect fact. Without `is_redelivered` no process goes on when it crashes."""

    plan: SourcePlan
    source: Source
    fact: str = "f"
    addresses: tuple[EntryAddress, ...] = ()
    removes_orphans: bool = False
    is_redelivered: bool = True
    repairer: type[Repairer] = Repairer

    async def __call__(self) -> None:
        """Until it is right, or nothing more can be known."""
        for generation in self.plan.generations:
            subject = Subject(self.plan, self.source, generation)
            options = RepairOptions(repairs=True, reconciles=self.removes_orphans)
            confirmer = new_confirmer(subject, dependencies(), options)
            known = confirmer._repairer
            assert known is not None
            repairer = self.repairer(known._examiner, known._dependencies, removes_orphans=self.removes_orphans)
            key = encode_fact_key((self.fact,), self.fact)
            await repairer.repair(FactIdentity(key, self.fact, (self.fact,)), self.addresses)

    def __str__(self) -> str:
        return "repair"


@dataclass(frozen=True, slots=True)
class Verify:
    """Verifies every index from beginning to end, and repairs it."""

    plan: SourcePlan
    source: Source
    options: RepairOptions
    is_redelivered: bool = True

    async def __call__(self) -> dict[str, dict[str, int]]:
        """The differences of each index by kind."""
        return await verify_all(self.plan, self.source, self.options)

    def __str__(self) -> str:
        return "verification"


async def verify_all(
    plan: SourcePlan, source: Source, options: RepairOptions, clock: Callable[[], float] = lambda: NOW_SECONDS
) -> dict[str, dict[str, int]]:
    """A verification of every index from beginning to end; the differences of each generation by kind."""
    found = {}
    for generation in plan.generations:
        state = ScanState()
        verification = new_verification(Subject(plan, source, generation), dependencies(clock), options, state)
        while not verification.is_done:
            await verification.step()
        differences = state.report.differences
        found[generation.id] = {str(kind): count for kind, count in differences.items() if count}
    return found


async def no_pause(seconds: float) -> None:
    """Time is not simulated; others run at every call anyway."""


def dependencies(clock: Callable[[], float] = lambda: NOW_SECONDS) -> VerificationDependencies:
    """What a process that verifies has."""
    reached = accounts()
    services = services_on(reached, clock, queue=StoppingQueue(), run_all=interleaved)
    facts = KeptFacts(reached.main, page_facts=3)
    return VerificationDependencies(
        services, facts, GracePeriod(0, 0, no_pause), lambda: 0.0, lambda: 0.0, report_nothing
    )
