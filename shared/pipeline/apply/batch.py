"""Applies batches of changes: the write protocol, step by step.

    0. coalesce    only the newest version of each fact counts
    1. look        cached row, or none assumed (insert first), or read
    2. claim       trim what is left of the previous version; then write the ledger rows, each on the condition that
                   it is as it was; whoever loses looks again
    3. write       live rows, in full transactions while claims are answered, then the rest; when acknowledged,
                   removals: all blind and idempotent
    4. announce    put dead letters; close outdated ones; sweep messages for the tombstones
    5. finish      remember which (fact, ETag) is finished; raise if any fact is not

Nothing is acknowledged that is not done: a crash between any two requests is healed by applying the batch again.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from shared.entries.keys.versions import lsn_of
from shared.entries.projection.generations import place_of
from shared.errors import IncompleteBatchError
from shared.pipeline.apply.claim_batch import BatchClaimer
from shared.pipeline.cleanup.messages import Tombstone, to_messages
from shared.pipeline.dead_letters.due import DeadLetterUpdates, DueCheck
from shared.pipeline.dead_letters.rows import dead_letter_of
from shared.pipeline.entry_writes.entry_writer import EntryWriter
from shared.pipeline.outcome import BatchOutcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan
    from shared.pipeline.apply.claim_batch import ClaimedChange, ClaimResult
    from shared.pipeline.cleanup.messages import SweepQueue
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.dead_letters.rows import DeadLetter
    from shared.pipeline.dead_letters.store import DeadLetterStore
    from shared.pipeline.entry_writes.transaction_buffer import TransactionBuffer
    from shared.pipeline.entry_writes.writes import EarlyRemoval, GenerationWrites
    from shared.pipeline.ledger.cache import LedgerCache
    from shared.tables.accounts import Accounts


class Applier:
    """Applies changes; one per worker process, so that its cache serves every batch."""

    def __init__(
        self,
        accounts: Accounts,
        dead_letters: DeadLetterStore,
        sweep_queue: SweepQueue,
        cache: LedgerCache,
        run_all: RunAll,
        run_buckets: RunAll,
        now_seconds: Callable[[], float],
    ) -> None:
        self._cache = cache
        self._run_all = run_all
        self._dead_letters = DeadLetterUpdates(accounts.main, dead_letters, run_all)
        self._sweep_queue = sweep_queue
        self._entry_writer = EntryWriter(accounts, run_all)
        self._claimer = BatchClaimer(accounts.main, self._entry_writer, cache, run_all, run_buckets, now_seconds)

    async def apply(self, plan: SourcePlan, changes: Sequence[Change]) -> BatchOutcome:
        """Apply every change or raise `IncompleteBatchError`; then the whole batch is to be applied again."""
        newest = newest_of_each(changes)
        live_rows = self._entry_writer.new_buffer()
        claims = await self._claimer.claim(plan, newest, partial(self._start_writing, live_rows))
        failures = claims.failures
        failures |= await self._write(live_rows, claims.claimed)
        done = [work for work in claims.claimed if work.fact not in failures]
        failures |= await self._dead_letters.put(_dead_letters(done))
        failures |= await self._dead_letters.close_outdated(plan, _due_checks([*done, *claims.passed]))
        failures |= await self._announce_tombstones(done, claims.early_removals)
        for work in claims.claimed:
            if work.fact not in failures:
                self._cache.mark_finished(work.key, work.etag, work.written)
        if failures:
            raise _incomplete(plan.source, failures, len(newest))
        return _outcome(plan, len(changes), len(newest), claims)

    async def _start_writing(self, live_rows: TransactionBuffer, claimed: Sequence[ClaimedChange]) -> None:
        """Live rows of facts that are claimed: what fills a transaction is sent while other facts are claimed."""
        await self._entry_writer.add_live(live_rows, _writes(claimed))

    async def _write(self, live_rows: TransactionBuffer, claimed: Sequence[ClaimedChange]) -> dict[str, Exception]:
        """Both waves. A fact whose live rows are not all acknowledged keeps its old entries for now."""
        await live_rows.finish()
        standing = [work for work in claimed if work.fact not in live_rows.failures]
        return live_rows.failures | await self._entry_writer.write_removals(_writes(standing))

    async def _announce_tombstones(
        self, works: Sequence[ClaimedChange], early_removals: Sequence[tuple[str, EarlyRemoval]]
    ) -> dict[str, Exception]:
        """Messages come after the tombstones they name, and before the facts are finished."""
        removals = [(work.fact, writes) for work in works for writes in work.decision.writes if writes.removed]
        results = await self._run_all(
            [
                partial(self._sweep_queue.send, message)
                for message in to_messages(_tombstones([*early_removals, *removals]))
            ]
        )
        errors = [result for result in results if isinstance(result, Exception)]
        # Which facts a message named does not matter: the batch comes back as a whole.
        return {fact: errors[0] for fact, _ in [*early_removals, *removals]} if errors else {}


def newest_of_each(changes: Iterable[Change]) -> list[Change]:
    """The newest change of each fact; of two with the same version the later."""
    newest: dict[str, Change] = {}
    for change in changes:
        other = newest.get(change.fact_key)
        if other is None or other.version <= change.version:
            newest[change.fact_key] = change
    return list(newest.values())


def _writes(works: Iterable[ClaimedChange]) -> list[tuple[str, GenerationWrites]]:
    return [(work.fact, writes) for work in works for writes in work.decision.writes]


def _dead_letters(works: Iterable[ClaimedChange]) -> list[tuple[str, DeadLetter]]:
    """One for every generation that failed, by fact."""
    failed = [(work, entries) for work in works for entries in work.decision.failed]
    return [
        (work.fact, dead_letter_of(work.change, entries.generation.index.name, *entries.failure))
        for work, entries in failed
        if entries.failure
    ]


def _due_checks(works: Iterable[ClaimedChange]) -> list[DueCheck]:
    return [
        DueCheck(
            work.fact,
            work.key,
            work.change.version,
            index,
            any(entries.generation.index.name == index for entries in work.decision.failed),
            work.has_written,
        )
        for work in works
        for index in work.decision.indexes_to_check
    ]


def _tombstones(all_writes: Iterable[tuple[str, GenerationWrites | EarlyRemoval]]) -> Iterable[Tombstone]:
    for _, writes in all_writes:
        for removal in writes.removed:
            yield Tombstone(place_of(writes.generation, removal.partition), removal.entry_key, writes.version)


def _incomplete(source: str, failures: dict[str, Exception], total: int) -> IncompleteBatchError:
    first = next(iter(failures.values()))
    error = IncompleteBatchError(
        f'{len(failures)} of {total} facts of source "{source}" were not applied: {first} The batch must come again.'
    )
    error.__cause__ = first
    return error


def _outcome(plan: SourcePlan, received: int, facts: int, claims: ClaimResult) -> BatchOutcome:
    outcome = BatchOutcome(received=received, coalesced=received - facts)
    for work in claims.claimed:
        decision = work.decision
        written = sum([len(writes.current) for writes in decision.writes])
        removed = sum([len(writes.removed) for writes in decision.writes])
        for writes in decision.writes:
            outcome.count_entries(writes.generation.index.name, len(writes.current), len(writes.removed))
        outcome.dead_letters += len(decision.failed)
        if decision.claim is None:
            outcome.redelivered += 1
        else:
            outcome.applied += 1
            outcome.unchanged += not written and not removed
    for work in claims.passed:
        newer = work.decision.newer
        if newer is None:
            outcome.redelivered += 1
        else:
            outcome.dropped += 1
            outcome.dropped_with_higher_lsn += plan.has_lsn and lsn_of(work.change.version) > lsn_of(newer)
    return outcome
