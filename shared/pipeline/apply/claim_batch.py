"""Steps 1 and 2 of the protocol for a batch: look, decide, remove early and claim, until every fact is settled.

When the claim of a fact conflicts, the next round reads its ledger row again. A conflict means that another worker has
made progress, so the rounds end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from shared.entries.projection.project_all import fail_for_ledger_row, project_all
from shared.errors import StorageUnavailableError
from shared.pipeline.apply.decide import Decision, decide
from shared.pipeline.apply.insert_or_read import InsertOrRead
from shared.pipeline.ledger.cache import ABSENT, KnownRow
from shared.pipeline.ledger.ledger_writes import Claim, write_claims
from shared.pipeline.ledger.rows import LEDGER_TABLE, STATES_BYTES_MAX, decode, encode, ledger_partition, states_bytes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan
    from shared.entries.projection.project_all import GenerationEntries
    from shared.pipeline.concurrency import NextTurn, RunAll
    from shared.pipeline.entry_writes.entry_writer import EntryWriter
    from shared.pipeline.entry_writes.writes import EarlyRemoval
    from shared.pipeline.ledger.cache import LedgerCache
    from shared.tables.port import Entity, Tables

OnClaimed: TypeAlias = "Callable[[Sequence[ClaimedChange]], Awaitable[None]]"

_ROUNDS_MAX: Final = 20


@dataclass(slots=True)
class ClaimedChange:
    """One change on its way through the protocol."""

    change: Change
    key: tuple[str, str]
    projected: list[GenerationEntries]
    known: KnownRow = ABSENT
    # The fact key, which identifies the fact within its batch.
    fact: str = field(init=False)
    decision: Decision = field(init=False)
    entity: Entity | None = None
    # The ETag of the ledger row that the writes belong to: the claimed row, or for a redelivery the row that was read.
    etag: str = ""

    def __post_init__(self) -> None:
        self.fact = self.change.fact_key

    @property
    def written(self) -> frozenset[str]:
        """The generations that are finished when the writes of this change are."""
        return frozenset([state.generation.id for state in self.decision.writes if state.is_whole])

    def has_written(self, generation: str, version: str) -> bool:
        """Whether all entries of a version are written once the writes of this change are; False when unknown."""
        if version == self.change.version and generation in self.written:
            return all(projection.generation.id != generation for projection in self.decision.failed)
        state = self.known.row.states.get(generation)
        is_known = state is not None and state.version == version and not state.failed
        return is_known and generation in self.known.finished


@dataclass(slots=True)
class ClaimResult:
    """What became of a batch: facts with writes to make (`claimed`), facts with nothing to do (`passed`), and failures.

    The `early_removals` have been written. Their tombstones must be swept even if the claims failed.
    """

    claimed: list[ClaimedChange] = field(default_factory=list)
    passed: list[ClaimedChange] = field(default_factory=list)
    failures: dict[str, Exception] = field(default_factory=dict)
    early_removals: list[tuple[str, EarlyRemoval]] = field(default_factory=list)

    def add(self, other: ClaimResult) -> None:
        """Add the result of other changes."""
        self.claimed += other.claimed
        self.passed += other.passed
        self.failures |= other.failures
        self.early_removals += other.early_removals


class BatchClaimer:
    """Claims batches of changes."""

    def __init__(
        self,
        ledger: Tables,
        entry_writer: EntryWriter,
        cache: LedgerCache,
        run_all: RunAll,
        run_buckets: RunAll,
        next_turn: NextTurn,
        now_seconds: Callable[[], float],
    ) -> None:
        self._ledger = ledger
        self._entry_writer = entry_writer
        self._cache = cache
        self._run_all = run_all
        self._run_buckets = run_buckets
        self._next_turn = next_turn
        self._now_seconds = now_seconds
        self.insert_or_read = InsertOrRead()

    async def claim(self, plan: SourcePlan, changes: Iterable[Change], on_claimed: OnClaimed) -> ClaimResult:
        """Settle every change, bucket by bucket: while one bucket's claims are on their way, the next is projected.

        `on_claimed` gets the claimed changes of each bucket, as soon as they are claimed.
        """
        if not plan.generations:
            return ClaimResult()
        buckets: dict[str, list[Change]] = {}
        for change in changes:
            partition = ledger_partition(plan.source, change.fact_hash, plan.buckets)
            buckets.setdefault(partition, []).append(change)
        claims = ClaimResult()
        work = [
            partial(self._claim_bucket, plan, partition, together, on_claimed)
            for partition, together in buckets.items()
        ]
        for result in await self._run_buckets(work):
            if isinstance(result, Exception):
                raise result
            claims.add(result)
        return claims

    async def _claim_bucket(
        self, plan: SourcePlan, partition: str, changes: Sequence[Change], on_claimed: OnClaimed
    ) -> ClaimResult:
        claims = await self._settle(plan, partition, changes)
        await on_claimed(claims.claimed)
        return claims

    async def _settle(self, plan: SourcePlan, partition: str, changes: Sequence[Change]) -> ClaimResult:
        claims = ClaimResult()
        works = []
        for change in changes:
            works.append(ClaimedChange(change, (partition, change.fact_key), project_all(change, plan)))
            await self._next_turn()
        await self._look_first(works, claims)
        for _ in range(_ROUNDS_MAX):
            works = [work for work in works if work.fact not in claims.failures]
            if not works:
                return claims
            claimants = await self._decide_all(plan, works, claims)
            works = await self._claim_all(claimants, claims)
            await self._read_all(works, claims)
        claims.failures |= {work.fact: _contended() for work in works}
        return claims

    async def _look_first(self, works: Sequence[ClaimedChange], claims: ClaimResult) -> None:
        """Take cached rows. For the other facts, assume that there is no ledger row, or read it."""
        unknown = []
        for work in works:
            known = self._cache.get(work.key)
            if known is None:
                unknown.append(work)
            else:
                work.known = known
        if not self.insert_or_read.is_insert:
            await self._read_all(unknown, claims)
            self._observe(unknown)

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
        self, plan: SourcePlan, works: Sequence[ClaimedChange], claims: ClaimResult
    ) -> list[ClaimedChange]:
        """Settle the changes that need no claim; return the others."""
        for work in works:
            self._decide(plan, work)
        outdated = [work for work in works if work.decision.needs_read]
        await self._read_all(outdated, claims)
        for work in outdated:
            if work.fact not in claims.failures:
                self._decide(plan, work)
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

    def _decide(self, plan: SourcePlan, work: ClaimedChange) -> None:
        """Decide. While the ledger row would be too large, let one more generation fail, before anything is claimed."""
        now_seconds = int(self._now_seconds())
        while True:
            work.decision = decide(work.change, work.projected, work.known, plan, now_seconds)
            if work.decision.claim is None:
                return
            work.entity = encode(work.decision.claim, *work.key)
            if states_bytes(work.entity) <= STATES_BYTES_MAX or not any(
                projection.entries for projection in work.projected
            ):
                return
            fail_for_ledger_row(work.projected, work.change, plan)

    async def _claim_all(self, works: Sequence[ClaimedChange], claims: ClaimResult) -> list[ClaimedChange]:
        """Remove early and claim; return the changes that lost their claim."""
        await self._write_early_removals(works, claims)
        works = [work for work in works if work.fact not in claims.failures]
        wanted = [Claim(work.fact, work.entity, work.known.etag) for work in works if work.entity is not None]
        result = await write_claims(self._ledger, wanted, self._run_all)
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
        self._observe_inserts(works, lost)
        return lost

    def _observe_inserts(self, works: Sequence[ClaimedChange], lost: Sequence[ClaimedChange]) -> None:
        """Learn from the rows that were assumed to be absent; other claims say nothing about inserts."""
        inserted = sum([work.known is ABSENT for work in works])
        existing = sum([work.known is ABSENT for work in lost])
        if self.insert_or_read.is_insert:
            self.insert_or_read.observe(existing=existing, absent=inserted - existing)

    async def _write_early_removals(self, works: Sequence[ClaimedChange], claims: ClaimResult) -> None:
        """Before the claim: write the tombstones that it drops from the ledger row."""
        early_removals = [(work.fact, removal) for work in works for removal in work.decision.early_removals]
        if early_removals:
            claims.failures |= await self._entry_writer.write_early_removals(early_removals)
            claims.early_removals += [
                (fact, removal) for fact, removal in early_removals if fact not in claims.failures
            ]

    def _won(self, work: ClaimedChange, etag: str) -> None:
        assert work.decision.claim is not None
        work.etag = etag
        self._cache.put(work.key, KnownRow(work.decision.claim, etag, work.decision.still_finished))


def _contended() -> StorageUnavailableError:
    return StorageUnavailableError(
        f"Other workers changed a ledger row {_ROUNDS_MAX} times before it could be claimed: try again later.",
        outcome_unknown=False,
    )
