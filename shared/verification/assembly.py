"""Puts a verification together from what a process has: storage, facts, a queue, clocks."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from shared.entries.keys.versions import ticks_of
from shared.entries.projection.generations import place_of
from shared.errors import OperationFailedError, TableMissingError
from shared.pipeline.apply.batch import Applier
from shared.pipeline.entry_writes.entry_writer import EntryWriter
from shared.pipeline.ledger.cache import LedgerCache
from shared.tables.port import Delete
from shared.verification.examine import Examiner
from shared.verification.judge import RECONCILED, REPAIRED, Judge
from shared.verification.repair import RepairDependencies, Repairer
from shared.verification.sample import Sampling
from shared.verification.scans import FactScan, LedgerScan, TableScan
from shared.verification.verify import StrayRemoval, Verification

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.definitions.model import Source
    from shared.entries.projection.generations import Generation, SourcePlan
    from shared.pipeline.cleanup.messages import SweepQueue
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.dead_letters.store import DeadLetterStore
    from shared.sources.ports import CurrentFacts
    from shared.tables.accounts import Accounts
    from shared.verification.judge import GracePeriod
    from shared.verification.scans import Scan, StrayRow
    from shared.verification.verify import ScanState

_MICROSECONDS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class RepairOptions:
    """What a verification is to do besides finding differences."""

    repairs: bool = False
    reconciles: bool = False


@dataclass(frozen=True, slots=True)
class VerificationDependencies:
    """What a verification works with. `run_facts` is apart from `run_all`: what is done with a fact runs calls."""

    accounts: Accounts
    facts: CurrentFacts | None
    dead_letters: DeadLetterStore
    sweep_queue: SweepQueue
    sweep_delay_seconds: int
    patience: GracePeriod
    run_all: RunAll
    run_facts: RunAll
    chance: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Subject:
    """The generation that is verified, with the source and plan that it belongs to."""

    plan: SourcePlan
    source: Source
    generation: Generation


def verification_of(
    subject: Subject, means: VerificationDependencies, asked: RepairOptions, state: ScanState
) -> Verification:
    """A full verification, from the state on."""
    generation = subject.generation
    sweeping = StrayRemoval(
        means.sweep_queue,
        partial(place_of, generation),
        partial(_is_forgotten, subject, means),
        partial(_remove, means),
    )
    return Verification(
        _scans(subject, means),
        judge_of(subject, means, asked),
        state,
        sweeping if asked.repairs else None,
        partial(_oldest_open, generation, means),
    )


def _oldest_open(generation: Generation, means: VerificationDependencies) -> str:
    periods = generation.periods
    return "" if periods is None else periods.oldest_open(means.patience.now_seconds())


def sampling_of(subject: Subject, means: VerificationDependencies) -> Sampling:
    """A verification of some facts."""
    now_seconds = means.patience.now_seconds
    return Sampling(
        subject.plan, subject.source, subject.generation, means.accounts, means.run_all, means.chance, now_seconds
    )


def judge_of(subject: Subject, means: VerificationDependencies, asked: RepairOptions) -> Judge:
    """Judges facts of the subject, and mends what is asked for."""
    examiner = Examiner(
        subject.plan,
        subject.source,
        subject.generation,
        means.accounts,
        means.facts,
        means.run_all,
        means.patience.now_seconds,
    )
    mends = (REPAIRED if asked.repairs else frozenset()) | (RECONCILED if asked.reconciles else frozenset())
    repairer = Repairer(examiner, _tools(subject, means), removes_orphans=asked.reconciles) if mends else None
    return Judge(examiner, means.patience, means.run_facts, repairer, mends)


def _scans(subject: Subject, means: VerificationDependencies) -> list[Scan]:
    plan, source, generation = subject.plan, subject.source, subject.generation
    has_facts = means.facts is not None and source.cosmos is not None
    now_seconds = means.patience.now_seconds
    scans: list[Scan] = []
    if means.facts is not None and has_facts:
        scans.append(FactScan(source, generation, means.facts, now_seconds))
    scans.append(LedgerScan(plan, generation, means.accounts, now_seconds, has_facts=has_facts))
    scans.append(TableScan(source, generation, means.accounts, now_seconds))
    return scans


def _tools(subject: Subject, means: VerificationDependencies) -> RepairDependencies:
    """Its own worker: what it knows to be finished is nothing, so that every row is looked at."""
    now_seconds = means.patience.now_seconds
    applier = Applier(
        means.accounts,
        means.dead_letters,
        means.sweep_queue,
        LedgerCache(),
        means.run_all,
        means.run_facts,
        now_seconds,
    )
    waves = EntryWriter(means.accounts, means.run_all)
    return RepairDependencies(
        subject.plan, means.accounts, applier, waves, means.sweep_queue, means.run_all, means.facts
    )


async def _remove(means: VerificationDependencies, stray: StrayRow) -> None:
    """Nobody else writes where it is; if it was changed all the same, the next verification finds it."""
    with suppress(OperationFailedError, TableMissingError):
        await means.accounts.tables(stray.account).transact(
            stray.table, [Delete(stray.partition, stray.row_key, stray.etag)]
        )


def _is_forgotten(subject: Subject, means: VerificationDependencies, at: str) -> bool:
    """Whether a row of this version is older than any sweep message. A declared version does not tell: then it may be,
    and one more message does no harm."""
    if subject.source.version is not None:
        return True
    ticks = ticks_of(at)
    written_seconds = ticks if subject.plan.has_lsn else ticks / _MICROSECONDS
    return means.patience.now_seconds() - written_seconds > means.sweep_delay_seconds
