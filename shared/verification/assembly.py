"""Puts a verification together from what a process is connected to."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from shared.entries.changes.hub_reader import HubReader
from shared.entries.keys.versions import ticks_of
from shared.entries.projection.generations import place_of
from shared.errors import OperationFailedError, TableMissingError
from shared.pipeline.account_calls import calls_by
from shared.pipeline.entry_writes.entry_writer import EntryWriter
from shared.pipeline.summaries.summary_writer import SummaryWriter
from shared.tables.port import Delete
from shared.tasks.budget import metered
from shared.verification.confirm import RECONCILABLE, REPAIRABLE, Confirmer
from shared.verification.examine import Examiner
from shared.verification.repair import RepairDependencies, Repairer
from shared.verification.retained_events import RetainedEvents
from shared.verification.sample import Sampling
from shared.verification.scans import FactScan, LedgerScan, TableScan
from shared.verification.summary_scan import SummaryScan
from shared.verification.totals import TotalsConfirmer
from shared.verification.verify import Cleaning, Verification

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shared.definitions.model import Definitions, Source
    from shared.entries.projection.generations import Generation, SourcePlan
    from shared.pipeline.apply.services import Services
    from shared.sources.hub_events import EventReplay
    from shared.sources.ports import CurrentFacts
    from shared.tasks.budget import Budget
    from shared.verification.confirm import GracePeriod
    from shared.verification.scans import Scan, StrayRow
    from shared.verification.verify import ScanState

_MICROSECONDS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class RepairOptions:
    """What a verification does besides finding differences."""

    repairs: bool = False
    reconciles: bool = False


@dataclass(frozen=True, slots=True)
class Hubs:
    """Reads hubs; the definitions say which sources share one."""

    replay: EventReplay
    definitions: Definitions


@dataclass(frozen=True, slots=True)
class VerificationDependencies:
    """What verifications work with.

    Facts run by `services.run_buckets` and their calls by `services.run_all`: work that runs other work has permits of
    its own. `report_verified` hears of every verification that ended: the index, the size of the sample (None for all
    facts), and the report as JSON. Without `hubs` facts that come as events are compared with the ledger alone.
    """

    services: Services
    facts: CurrentFacts
    grace_period: GracePeriod
    chance: Callable[[], float]
    steady_seconds: Callable[[], float]
    report_verified: Callable[[str, int | None, Mapping[str, object]], None]
    hubs: Hubs | None = None

    def within(self, budget: Budget) -> VerificationDependencies:
        """The same, with every storage request counted against a budget."""
        services = replace(self.services, accounts=metered(self.services.accounts, budget))
        return replace(self, services=services)


@dataclass(frozen=True, slots=True)
class Subject:
    """The generation that is verified, with the source and plan that it belongs to."""

    plan: SourcePlan
    source: Source
    generation: Generation


def new_verification(
    subject: Subject, dependencies: VerificationDependencies, options: RepairOptions, state: ScanState
) -> Verification:
    """A full verification, from the state on."""
    generation, services = subject.generation, dependencies.services
    cleaning = Cleaning(
        services.sweep_queue,
        partial(place_of, generation),
        partial(_is_forgotten, subject, services),
        partial(_remove, services) if options.repairs else None,
    )
    return Verification(
        _scans(subject, dependencies),
        new_confirmer(subject, dependencies, options),
        state,
        cleaning,
        partial(_oldest_open, generation, services),
        None if generation.layout is None else _new_totals_confirmer(subject, dependencies, options),
        _new_retained_events(subject, dependencies, options),
    )


def _new_retained_events(
    subject: Subject, dependencies: VerificationDependencies, options: RepairOptions
) -> RetainedEvents | None:
    source, hubs = subject.source, dependencies.hubs
    if source.cosmos is not None or hubs is None:
        return None
    return RetainedEvents(
        source,
        subject.plan,
        subject.generation,
        HubReader.of(source, hubs.definitions),
        hubs.replay,
        dependencies.services,
        dependencies.grace_period,
        repairs=options.repairs,
    )


def _new_totals_confirmer(
    subject: Subject, dependencies: VerificationDependencies, options: RepairOptions
) -> TotalsConfirmer:
    services = dependencies.services
    return TotalsConfirmer(
        subject.generation,
        services.accounts,
        dependencies.grace_period,
        services.run_buckets,
        repairs=options.repairs,
    )


def _oldest_open(generation: Generation, services: Services) -> str:
    periods = generation.periods
    return "" if periods is None else periods.oldest_open(services.now_seconds())


def new_sampling(subject: Subject, dependencies: VerificationDependencies) -> Sampling:
    """A verification of some facts."""
    services = dependencies.services
    return Sampling(
        subject.plan,
        subject.source,
        subject.generation,
        services.accounts,
        services.run_all,
        dependencies.chance,
        services.now_seconds,
    )


def new_confirmer(subject: Subject, dependencies: VerificationDependencies, options: RepairOptions) -> Confirmer:
    """Confirms differences of the subject, and repairs what is asked for."""
    services = dependencies.services
    examiner = Examiner(
        subject.plan,
        subject.source,
        subject.generation,
        services.accounts,
        dependencies.facts,
        services.run_all,
        services.now_seconds,
    )
    kinds = (REPAIRABLE if options.repairs else frozenset()) | (RECONCILABLE if options.reconciles else frozenset())
    repairer = None
    if kinds:
        repairer = Repairer(examiner, _repair_dependencies(subject, dependencies), removes_orphans=options.reconciles)
    return Confirmer(examiner, dependencies.grace_period, services.run_buckets, services.now_seconds, repairer, kinds)


def _scans(subject: Subject, dependencies: VerificationDependencies) -> list[Scan]:
    plan, source, generation = subject.plan, subject.source, subject.generation
    accounts, now_seconds = dependencies.services.accounts, dependencies.services.now_seconds
    has_facts = source.cosmos is not None
    scans: list[Scan] = []
    if has_facts:
        scans.append(FactScan(source, generation, dependencies.facts, dependencies.services.next_turn, now_seconds))
    scans.append(LedgerScan(plan, generation, accounts, now_seconds, has_facts=has_facts))
    if generation.layout is None:
        scans.append(TableScan(source, generation, accounts, now_seconds))
    else:
        scans.append(SummaryScan(source, generation, accounts))
    return scans


def _repair_dependencies(subject: Subject, dependencies: VerificationDependencies) -> RepairDependencies:
    """With a ledger cache of its own that knows nothing to be finished, so that every row is looked at."""
    services = dependencies.services
    return RepairDependencies(
        subject.plan,
        services.accounts,
        services.new_applier(),
        EntryWriter(services.accounts, calls_by(services.run_all)),
        SummaryWriter(services.accounts, calls_by(services.run_all)),
        services.sweep_queue,
        services.run_all,
        dependencies.facts,
    )


async def _remove(services: Services, stray: StrayRow) -> None:
    """No worker writes where it is; if it was changed all the same, the next verification finds it."""
    with suppress(OperationFailedError, TableMissingError):
        await services.accounts.tables(stray.account).transact(
            stray.table, [Delete(stray.partition, stray.row_key, stray.etag)]
        )


def _is_forgotten(subject: Subject, services: Services, version: str) -> bool:
    """Whether a row of this version is older than any sweep message. A declared version does not say when it was
    written: then the row may be older, and one more message does no harm."""
    if subject.source.version is not None:
        return True
    ticks = ticks_of(version)
    written_seconds = ticks if subject.plan.has_lsn else ticks / _MICROSECONDS
    return services.now_seconds() - written_seconds > services.times.sweep_delay_seconds
