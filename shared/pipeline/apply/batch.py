"""Applies batches of changes: the write protocol, step by step.

    0. coalesce    keep only the newest version of each fact
    1. look        take the cached ledger row; without one, assume that there is no row (insert first), or read it
    2. claim       first remove early: write again the tombstones that the claim drops from the ledger row. Then write
                   the ledger rows, each on the condition that it has not changed. A worker that loses a claim reads
                   the row again
    3. write       live rows first: full transactions go out while other facts are claimed, the rest follows. When all
                   of them are acknowledged, the removals. All these writes are unconditional and idempotent
    4. announce    put dead letters; close outdated ones; send sweep messages for the tombstones
    5. finish      remember which (fact, ETag) is finished; raise if any fact is not

The batch is acknowledged only when all of it is done. After a crash between any two requests, applying the batch again
completes it.
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
    from shared.pipeline.concurrency import NextTurn, RunAll
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
        next_turn: NextTurn,
        now_seconds: Callable[[], float],
    ) -> None:
        self._cache = cache
        self._run_all = run_all
        self._dead_letters = DeadLetterUpdates(accounts.main, dead_letters, run_all)
        self._sweep_queue = sweep_queue
        self._entry_writer = EntryWriter(accounts, run_all)
        self._claimer = BatchClaimer(
            accounts.main, self._entry_writer, cache, run_all, run_buckets, next_turn, now_seconds
        )

    async def apply(self, plan: SourcePlan, changes: Sequence[Change]) -> BatchOutcome:
        """Apply every change, or raise `IncompleteBatchError`: then apply the whole batch again."""
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
        """Write live rows of claimed facts: a full transaction is sent while other facts are still being claimed."""
        await self._entry_writer.add_live(live_rows, _writes(claimed))

    async def _write(self, live_rows: TransactionBuffer, claimed: Sequence[ClaimedChange]) -> dict[str, Exception]:
        """Live rows first, then removals. A fact without all live rows acknowledged keeps its old entries for now."""
        await live_rows.finish()
        standing = [work for work in claimed if work.fact not in live_rows.failures]
        return live_rows.failures | await self._entry_writer.write_removals(_writes(standing))

    async def _announce_tombstones(
        self, works: Sequence[ClaimedChange], early_removals: Sequence[tuple[str, EarlyRemoval]]
    ) -> dict[str, Exception]:
        """Send sweep messages: after the tombstones that they name are written, before the facts are finished."""
        removals = [(work.fact, writes) for work in works for writes in work.decision.writes if writes.removed]
        results = await self._run_all(
            [
                partial(self._sweep_queue.send, message)
                for message in to_messages(_tombstones([*early_removals, *removals]))
            ]
        )
        errors = [result for result in results if isinstance(result, Exception)]
        # It does not matter which facts the message named: the batch comes back as a whole.
        return {fact: errors[0] for fact, _ in [*early_removals, *removals]} if errors else {}


def newest_of_each(changes: Iterable[Change]) -> list[Change]:
    """The newest change of each fact; of two with the same version, the later one."""
    newest: dict[str, Change] = {}
    for change in changes:
        other = newest.get(change.fact_key)
        if other is None or other.version <= change.version:
            newest[change.fact_key] = change
    return list(newest.values())


def _writes(works: Iterable[ClaimedChange]) -> list[tuple[str, GenerationWrites]]:
    return [(work.fact, writes) for work in works for writes in work.decision.writes]


def _dead_letters(works: Iterable[ClaimedChange]) -> list[tuple[str, DeadLetter]]:
    """A dead letter for every generation that failed, with its fact."""
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
