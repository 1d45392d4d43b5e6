"""Applies batches of changes: the write protocol, step by step.

    0. coalesce    keep only the newest version of each fact
    1. look        take the cached ledger row; without one, assume that there is no row (insert first), or read it
    2. claim       first remove early: write again the tombstones that the claim drops from the ledger row. Then write
                   the ledger rows, each on the condition that it has not changed. A worker that loses a claim reads
                   the row again
    3. write       live rows first: full transactions go out while other facts are claimed, the rest follows. When all
                   of them are acknowledged, the removals that wait for them. All these writes are unconditional and
                   idempotent
    4. announce    send sweep messages for the tombstones, beside step 3; those of step 2 before the claim, which
                   forgets their keys
    5. settle      what an account that is down lacks is owed to it from now on; what was owed and is written is no
                   more. Both under the ETag of the claim. A worker that loses this begins again with step 1
    6. report      put dead letters; close outdated ones
    7. finish      remember which (fact, ETag) is finished; raise if any fact is not

The batch is acknowledged only when all of it is done. After a crash between any two requests, applying the batch again
completes it.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final

from shared.entries.keys.versions import lsn_of
from shared.errors import IncompleteBatchError
from shared.pipeline.account_calls import can_wait
from shared.pipeline.apply.claim_batch import BatchClaimer, contended
from shared.pipeline.apply.claimed import ClaimResult, Writers
from shared.pipeline.apply.early_writer import EarlyWriter
from shared.pipeline.apply.settle_debts import settle_debts
from shared.pipeline.cleanup.messages import to_messages, tombstones_of
from shared.pipeline.concurrency import all_of
from shared.pipeline.dead_letters.due import DeadLetterUpdates, DueCheck
from shared.pipeline.dead_letters.rows import content_of, dead_letter_of
from shared.pipeline.entry_writes.entry_writer import EntryWriter
from shared.pipeline.entry_writes.writes import apart
from shared.pipeline.ledger.shares import ShareKey
from shared.pipeline.outcome import BatchOutcome
from shared.pipeline.summaries.summary_writer import SummaryRows, SummaryWriter
from shared.pipeline.summaries.wanted import first_wave, second_wave

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan
    from shared.pipeline.account_calls import NewCalls
    from shared.pipeline.apply.claimed import ClaimedChange
    from shared.pipeline.cleanup.messages import SweepQueue, Swept
    from shared.pipeline.concurrency import NextTurn, RunAll
    from shared.pipeline.dead_letters.rows import DeadLetter
    from shared.pipeline.dead_letters.store import DeadLetterStore
    from shared.pipeline.entry_writes.look import Looked
    from shared.pipeline.entry_writes.transaction_buffer import TransactionBuffer, WriteFailures
    from shared.pipeline.entry_writes.writes import GenerationWrites
    from shared.pipeline.ledger.cache import LedgerCache
    from shared.tables.accounts import Accounts


_ROUNDS_MAX: Final = 5
# In larger batches it is computing that takes the time, not waiting.
_SMALL_BATCH: Final = 250


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
        new_calls: NewCalls,
    ) -> None:
        self._accounts = accounts
        self._ledger = accounts.main
        self._cache = cache
        self._run_all = run_all
        self._new_calls = new_calls
        self._now_seconds = now_seconds
        self._dead_letters = DeadLetterUpdates(accounts.main, dead_letters, run_all)
        self._sweep_queue = sweep_queue
        self._summaries = SummaryRows()
        self._claimer = BatchClaimer(accounts.main, cache, run_all, run_buckets, next_turn, now_seconds)

    async def apply(self, plan: SourcePlan, changes: Sequence[Change]) -> BatchOutcome:
        """Apply every change, or raise `IncompleteBatchError`: then apply the whole batch again."""
        left = newest = newest_of_each(changes)
        outcome = BatchOutcome(received=len(changes), coalesced=len(changes) - len(newest))
        failures: dict[str, Exception] = {}
        while left:
            left = await self._apply_part(plan, left, outcome, failures)
        if failures:
            raise _incomplete(plan.source, failures, len(newest))
        return outcome

    async def _apply_part(
        self, plan: SourcePlan, changes: Sequence[Change], outcome: BatchOutcome, failures: dict[str, Exception]
    ) -> list[Change]:
        """All steps, for as many changes as memory has room for; count what became of them, and return the others.
        Nothing else of them stays in memory."""
        claims = await self._claim_and_write(plan, changes)
        failures |= claims.failures
        done = [work for work in claims.claimed if work.fact not in failures]
        not_put, not_kept = await self._dead_letters.put(plan.source, _dead_letters(done))
        failures |= not_put
        failures |= await self._dead_letters.close_outdated(plan, _due_checks([*done, *claims.passed]))
        for work in claims.claimed:
            if work.fact not in failures:
                self._cache.mark_finished(work.key, work.etag, work.written)
        outcome.dead_letters_not_kept += not_kept
        _count(outcome, plan, claims)
        return claims.waiting

    async def _claim_and_write(self, plan: SourcePlan, changes: Sequence[Change]) -> ClaimResult:
        """Steps 1 to 5, again for changes that another worker has overtaken while an account failed."""
        calls = self._new_calls(plan.accounts)
        writer = EntryWriter(self._accounts, calls)
        summaries = SummaryWriter(self._accounts, calls, self._summaries)
        claims = ClaimResult()
        for _ in range(_ROUNDS_MAX):
            live_rows = writer.new_buffer()
            writers = Writers(writer, summaries, self._announce)
            early = EarlyWriter(writers, live_rows, self._run_all, is_small=len(changes) <= _SMALL_BATCH)
            round_ = await self._claimer.claim(plan, changes, writers, early)
            unwritten = await self._write(writers, live_rows, early.looked, round_)
            left_out = [(fact, writes) for fact, writes in early.left_out if (fact, writes.account) not in unwritten]
            round_.failures |= await self._announce_rest(round_, left_out, early.not_announced)
            lost = await self._settle(round_, unwritten)
            claims.add(round_)
            changes = [work.change for work in lost]
            if not changes:
                return claims
        claims.failures |= {change.fact_key: contended() for change in changes}
        return claims

    async def _write(
        self, writers: Writers, live_rows: TransactionBuffer, looked: Looked, claims: ClaimResult
    ) -> WriteFailures:
        """Live rows first, then removals. A fact without all live rows acknowledged keeps its old entries for now,
        unless they failed in an account that is down: the others do not wait for it. Return what such accounts lack."""
        of_summaries, of_entries = apart(_writes(claims.claimed))
        writer, summaries = writers.entries, writers.summaries
        await writer.finish(live_rows, of_entries, looked)
        first = await summaries.write(first_wave(of_summaries))
        failures = live_rows.failures | first.failures
        failed = _without_waiting(failures)
        standing = [work for work in claims.claimed if work.fact not in failed]
        of_summaries, of_entries = apart(_writes(standing))
        failures |= await writer.write_second(of_entries, looked)
        second = await summaries.write(second_wave(of_summaries))
        failures |= second.failures
        claims.gone += [*first.gone, *second.gone]
        claims.failures |= _without_waiting(failures)
        for work in claims.claimed:
            work.written = frozenset(
                [
                    ShareKey(writes.generation.id, writes.account)
                    for writes in work.decision.writes
                    if writes.is_whole and (work.fact, writes.account) not in failures
                ]
            )
        return failures

    async def _announce_rest(
        self, claims: ClaimResult, left_out: Sequence[tuple[str, GenerationWrites]], error: Exception | None
    ) -> dict[str, Exception]:
        """Send the sweep messages that could not be sent before, such as those of contributions, which have the ETags
        of what is written. Return the facts that fail when not all was announced, for this error or another."""
        try:
            await self._announce(chain(tombstones_of(left_out), claims.gone))
        except Exception as another:  # whichever facts the message named: the batch comes back as a whole
            error = another
        if error is None:
            return {}
        removing = [fact for fact, writes in _writes(claims.claimed) if writes.removed and fact not in claims.failures]
        return dict.fromkeys(removing, error)

    async def _announce(self, swept: Iterable[Swept]) -> None:
        await all_of(self._run_all, [partial(self._sweep_queue.send, message) for message in to_messages(swept)])

    async def _settle(self, claims: ClaimResult, unwritten: WriteFailures) -> list[ClaimedChange]:
        """Note what is owed and what is no more; return the changes that another worker has overtaken."""
        works = [work for work in claims.claimed if work.fact not in claims.failures]
        now_seconds = int(self._now_seconds())
        settled = await settle_debts(self._ledger, self._cache, self._run_all, works, unwritten.keys(), now_seconds)
        claims.failures |= settled.failures
        lost = {work.fact for work in settled.lost}
        claims.claimed = [work for work in claims.claimed if work.fact not in lost]
        return settled.lost


def _without_waiting(failures: WriteFailures) -> dict[str, Exception]:
    """The facts that cannot be left for later."""
    return {fact: error for (fact, account), error in failures.items() if not can_wait(account, error)}


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
    found: list[tuple[str, DeadLetter]] = []
    for work in works:
        failures = [(entries.generation.index.name, entries.failure) for entries in work.decision.failed]
        content = content_of(work.change.document) if failures else b""
        found += [
            (work.fact, dead_letter_of(work.change, index, failure.kind, failure.reason, content))
            for index, failure in failures
            if failure
        ]
    return found


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


def _incomplete(source: str, failures: dict[str, Exception], total: int) -> IncompleteBatchError:
    first = next(iter(failures.values()))
    error = IncompleteBatchError(
        f'{len(failures)} of {total} facts of source "{source}" were not applied: {first} The batch must come again.'
    )
    error.__cause__ = first
    return error


def _count(outcome: BatchOutcome, plan: SourcePlan, claims: ClaimResult) -> None:
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
    for work in [*claims.claimed, *claims.passed]:
        debts = work.row.debts
        outcome.owing += bool(debts) if plan.delivers_to is None else plan.delivers_to in debts
    for work in claims.passed:
        newer = work.decision.newer
        if newer is None:
            outcome.redelivered += 1
        else:
            outcome.dropped += 1
            outcome.dropped_with_higher_lsn += plan.has_lsn and lsn_of(work.change.version) > lsn_of(newer)
