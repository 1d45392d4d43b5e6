"""Steps 1 and 2 of the protocol for a batch: look, decide, remove early and claim, until every fact is settled.

When the claim of a fact conflicts, the next round reads its ledger row again. A conflict means that another worker has
made progress, so the rounds end.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from shared.entries.projection.project_all import failing_for_ledger_row, project_one, within_limit
from shared.errors import StorageUnavailableError
from shared.pipeline.account_calls import can_wait
from shared.pipeline.apply.claimed import ClaimedChange, ClaimResult, Writers
from shared.pipeline.apply.decide import decide
from shared.pipeline.apply.held_entries import FEW_ENTRIES, HeldEntries
from shared.pipeline.apply.insert_or_read import InsertOrRead
from shared.pipeline.cleanup.messages import tombstones_of
from shared.pipeline.entry_writes.writes import apart
from shared.pipeline.ledger.cache import ABSENT, KnownRow
from shared.pipeline.ledger.debts import debt_changes
from shared.pipeline.ledger.ledger_writes import Claim, write_claims
from shared.pipeline.ledger.rows import LEDGER_TABLE, STATES_BYTES_MAX, decode, encode, ledger_partition, states_bytes
from shared.pipeline.summaries.wanted import early_wave

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan
    from shared.entries.projection.project_all import GenerationEntries
    from shared.pipeline.concurrency import NextTurn, RunAll
    from shared.pipeline.ledger.cache import LedgerCache
    from shared.tables.port import Tables


class Watcher(Protocol):
    """Is told how far each bucket of a batch has come."""

    def begins(self, buckets: int) -> None:
        """So many buckets are about to be projected."""

    def projected(self, works: Sequence[ClaimedChange]) -> None:
        """These are the changes of one bucket."""

    async def claimed(self, works: Sequence[ClaimedChange], claimed: Sequence[ClaimedChange]) -> None:
        """Of the changes of one bucket, which are settled, these are claimed."""


_ROUNDS_MAX: Final = 20


class BatchClaimer:
    """Claims batches of changes."""

    def __init__(
        self,
        ledger: Tables,
        cache: LedgerCache,
        run_all: RunAll,
        run_buckets: RunAll,
        next_turn: NextTurn,
        now_seconds: Callable[[], float],
    ) -> None:
        self._ledger = ledger
        self._cache = cache
        self._run_all = run_all
        self._run_buckets = run_buckets
        self._next_turn = next_turn
        self._now_seconds = now_seconds
        self.insert_or_read = InsertOrRead()

    async def claim(
        self, plan: SourcePlan, changes: Iterable[Change], writers: Writers, watcher: Watcher
    ) -> ClaimResult:
        """Settle every change, bucket by bucket: while one bucket's claims are on their way, the next is projected.

        Changes wait (`waiting`) when the entries of those before them take too much memory. `writers` remove early, and
        know which accounts are down.
        """
        if not plan.generations:
            return ClaimResult()
        buckets: dict[str, list[Change]] = {}
        for change in changes:
            partition = ledger_partition(plan.source, change.fact_hash, plan.buckets)
            buckets.setdefault(partition, []).append(change)
        claims, held = ClaimResult(), HeldEntries()
        work = [
            partial(self._claim_bucket, plan, partition, together, held, writers, watcher)
            for partition, together in buckets.items()
        ]
        watcher.begins(len(work))
        for result in await self._run_buckets(work):
            if isinstance(result, Exception):
                raise result
            claims.add(result)
        return claims

    async def _claim_bucket(
        self,
        plan: SourcePlan,
        partition: str,
        changes: Sequence[Change],
        held: HeldEntries,
        writers: Writers,
        watcher: Watcher,
    ) -> ClaimResult:
        works, waiting = [], []
        for change in changes:
            projected = await self._project(plan, change, held)
            if projected:
                key = (partition, change.fact_key)
                works.append(ClaimedChange(change, key, projected, self._cache.get(key) or ABSENT))
            else:
                waiting.append(change)
        watcher.projected(works)
        claims = await self._settle(plan, works, writers)
        claims.waiting += waiting
        await watcher.claimed(works, claims.claimed)
        return claims

    async def _settle(self, plan: SourcePlan, works: Sequence[ClaimedChange], writers: Writers) -> ClaimResult:
        claims = ClaimResult()
        assumed = await self._look_first(works, claims)
        for _ in range(_ROUNDS_MAX):
            works = [work for work in works if work.fact not in claims.failures]
            if not works:
                return claims
            claimants = await self._decide_all(plan, works, claims, writers.entries.calls.down)
            works = await self._claim_all(claimants, claims, writers)
            await self._read_all(works, claims)
            # Only now: beside an insert that failed are others of its transaction that were not tried.
            self._observe([work for work in assumed if work.fact not in claims.failures])
            assumed = []
        claims.failures |= {work.fact: contended() for work in works}
        return claims

    async def _project(self, plan: SourcePlan, change: Change, held: HeldEntries) -> list[GenerationEntries]:
        """The change in every generation; nothing when it has to wait."""
        projected: list[GenerationEntries] = []
        for generation in plan.generations:
            await self._next_turn()
            if held.is_full and not projected:
                break
            projected.append(project_one(change, generation))
            if len(projected[-1].entries) > FEW_ENTRIES:
                held.add(projected[-1])
        return within_limit(projected, plan)

    async def _look_first(self, works: Sequence[ClaimedChange], claims: ClaimResult) -> list[ClaimedChange]:
        """For facts that are not cached, assume that there is no ledger row, or read it. Return those of which it is
        assumed."""
        unknown = [work for work in works if not work.known.is_cached]
        if self.insert_or_read.is_insert:
            return unknown
        await self._read_all(unknown, claims)
        self._observe(unknown)
        return []

    def _observe(self, works: Sequence[ClaimedChange]) -> None:
        absent = sum([work.known.etag is None for work in works])
        self.insert_or_read.observe(existing=len(works) - absent, absent=absent)

    async def _read_all(self, works: Sequence[ClaimedChange], claims: ClaimResult) -> None:
        results = await self._run_all([partial(self._read, work) for work in works]) if works else []
        for work, result in zip(works, results, strict=True):
            if isinstance(result, Exception):
                claims.failures[work.fact] = result
            else:
                work.known = result

    async def _read(self, work: ClaimedChange) -> KnownRow:
        row = await self._ledger.get(LEDGER_TABLE, *work.key)
        if row is None:
            self._cache.forget(work.key)
            return ABSENT
        cached = self._cache.get(work.key)
        finished = cached.finished if cached is not None and cached.etag == row.etag else frozenset()
        known = KnownRow(decode(row.entity), row.etag, finished)
        self._cache.put(work.key, known)
        return known

    async def _decide_all(
        self, plan: SourcePlan, works: Sequence[ClaimedChange], claims: ClaimResult, down: AbstractSet[str]
    ) -> list[ClaimedChange]:
        """Settle the changes that need no claim; return the others."""
        for work in works:
            self._decide(plan, work, down)
        outdated = [work for work in works if work.decision.needs_read]
        await self._read_all(outdated, claims)
        for work in outdated:
            if work.fact not in claims.failures:
                self._decide(plan, work, down)
        claimants = []
        for work in works:
            if work.fact in claims.failures:
                continue
            if work.decision.claim is not None:
                claimants.append(work)
            elif work.decision.writes:
                work.etag = str(work.known.etag)
                claims.claimed.append(work)
            else:
                claims.passed.append(work)
        return claimants

    def _decide(self, plan: SourcePlan, work: ClaimedChange, down: AbstractSet[str]) -> None:
        """Decide. If the ledger row would be too large, as few generations fail as have to: before it is claimed."""
        whole, now_seconds = work.projected, int(self._now_seconds())

        def fits(failing: int) -> bool:
            work.projected = failing_for_ledger_row(whole, plan, failing) if failing else whole
            work.decision = decide(work.change, work.projected, work.known, plan, now_seconds, down)
            if work.decision.claim is None:
                return True
            work.entity = encode(work.decision.claim, *work.key)
            return states_bytes(work.entity) <= STATES_BYTES_MAX

        most = sum([bool(projection.entries) for projection in whole])
        if not fits(0) and most:
            # A large row takes long to write out, so not every number is tried.
            fits(min(most, 1 + bisect_left(range(1, most + 1), True, key=fits)))

    async def _claim_all(
        self, works: Sequence[ClaimedChange], claims: ClaimResult, writers: Writers
    ) -> list[ClaimedChange]:
        """Remove early and claim; return the changes that lost their claim, or whose account turned out to be down."""
        unprepared = await self._write_early_removals(works, claims, writers)
        waiting = [work for work in works if work.fact in unprepared and work.fact not in claims.failures]
        works = [work for work in works if work.fact not in claims.failures and work.fact not in unprepared]
        wanted = [_claim_of(work) for work in works]
        result = await write_claims(self._ledger, wanted, self._run_all, self.insert_or_read.reads_rest)
        claims.failures |= result.failures
        lost = []
        for work in works:
            etag = result.etags.get(work.fact)
            if etag is not None:
                self._won(work, etag)
                claims.claimed.append(work)
            else:
                # After an error without an answer the claim may have landed: either way the cached row is outdated.
                self._cache.forget(work.key)
                if work.fact not in result.failures:
                    lost.append(work)
        return [*lost, *waiting]

    async def _write_early_removals(
        self, works: Sequence[ClaimedChange], claims: ClaimResult, writers: Writers
    ) -> set[str]:
        """Before the claim: write the tombstones that it drops from the ledger row, and announce them, since nothing
        else would remember them after it. Return the facts that cannot be claimed like this."""
        early_removals = [(work.fact, removal) for work in works for removal in work.decision.early_removals]
        if not early_removals:
            return set()
        of_summaries, of_entries = apart(early_removals)
        early = await writers.summaries.write(early_wave(of_summaries))
        failures = early.failures | await writers.entries.write_early_removals(of_entries)
        claims.failures |= {fact: error for (fact, account), error in failures.items() if not can_wait(account, error)}
        failed = {fact for fact, _ in failures}
        written = [(fact, removal) for fact, removal in of_entries if fact not in failed]
        try:
            await writers.announce([*tombstones_of(written), *early.gone])
        except Exception as error:  # whichever facts the message named: none of them is claimed
            claims.failures |= {fact: error for fact, _ in early_removals}
        return failed

    def _won(self, work: ClaimedChange, etag: str) -> None:
        assert work.decision.claim is not None
        work.etag = etag
        self._cache.put(work.key, KnownRow(work.decision.claim, etag, work.decision.still_finished))


def _claim_of(work: ClaimedChange) -> Claim:
    row = work.decision.claim
    assert row is not None
    assert work.entity is not None
    debts = debt_changes(work.key, work.known.row, row, work.change)
    return Claim(work.fact, work.entity, work.known.etag, debts)


def contended() -> StorageUnavailableError:
    """The error of a fact that other workers keep changing."""
    return StorageUnavailableError(
        f"Other workers changed a ledger row {_ROUNDS_MAX} times before it could be claimed: try again later.",
        outcome_unknown=False,
    )
