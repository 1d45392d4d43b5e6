"""Applies batches of changes: the write protocol, step by step.

    0. coalesce    only the newest version of each fact counts
    1. look        cached row, or none assumed (insert first), or read
    2. claim       trim what is left of the previous version; close dead letters; then write the ledger rows, each on
                   the condition that it is as it was; whoever loses looks again
    3. write       live rows; when acknowledged, removals: blind, idempotent
    4. announce    dead letters, put or closed; sweep messages for the tombstones
    5. finish      remember which (fact, ETag) is finished; raise if any fact is not

Nothing is acknowledged that is not done: a crash between any two requests is healed by applying the batch again.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from shared.errors import IncompleteBatchError
from shared.pipeline.claiming import Claiming
from shared.pipeline.coalesce import newest_of_each
from shared.pipeline.dead_letter_rows import letter_of
from shared.pipeline.outcome import Outcome
from shared.pipeline.storage import place_of
from shared.pipeline.sweep_messages import Tombstone, pack
from shared.pipeline.waves import Waves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shared.pipeline.cache import LedgerCache
    from shared.pipeline.claiming import Claims, Work
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.dead_letters import DeadLetters
    from shared.pipeline.decide import PartWrites, Trim
    from shared.pipeline.generations import SourcePlan
    from shared.pipeline.storage import Accounts
    from shared.pipeline.sweep_messages import SweepQueue
    from shared.projection.change import Change

# Where a version of Cosmos DB has its `_lsn`.
_LSN: Final = slice(16, 35)


class Applier:
    """Applies changes; one per worker process, so that its cache serves every batch."""

    def __init__(
        self,
        accounts: Accounts,
        dead_letters: DeadLetters,
        sweep_queue: SweepQueue,
        cache: LedgerCache,
        run_all: RunAll,
        run_buckets: RunAll,
        now_seconds: Callable[[], float],
    ) -> None:
        self._cache = cache
        self._run_all = run_all
        self._dead_letters = dead_letters
        self._sweep_queue = sweep_queue
        self._waves = Waves(accounts, run_all)
        self._claiming = Claiming(accounts.main, self._waves, dead_letters, cache, run_all, run_buckets, now_seconds)

    async def apply(self, plan: SourcePlan, changes: Sequence[Change]) -> Outcome:
        """Apply every change or raise `IncompleteBatchError`; then the whole batch is to be applied again."""
        newest = newest_of_each(changes)
        claims = await self._claiming.claim(plan, newest)
        failures = claims.failures
        failures |= await self._write(claims.claimed)
        done = [work for work in claims.claimed if work.fact not in failures]
        failures |= await self._announce_failed(done)
        failures |= await self._close_mended_again(done)
        failures |= await self._announce_tombstones(done, claims.trims)
        for work in claims.claimed:
            if work.fact not in failures:
                self._cache.finish(work.key, work.etag, work.written)
        if failures:
            raise _incomplete(plan.source, failures, len(newest))
        return _outcome(plan, len(changes), len(newest), claims)

    async def _write(self, claimed: Sequence[Work]) -> dict[str, Exception]:
        """Both waves. A fact whose live rows are not all acknowledged keeps its old entries for now."""
        failures = await self._waves.write_live(_writes(claimed))
        standing = [work for work in claimed if work.fact not in failures]
        return failures | await self._waves.write_removals(_writes(standing))

    async def _announce_failed(self, works: Sequence[Work]) -> dict[str, Exception]:
        failed = [(work, one) for work in works for one in work.decision.failed]
        letters = [
            letter_of(work.change, one.generation.index.name, *one.failure) for work, one in failed if one.failure
        ]
        results = await self._run_all([partial(self._dead_letters.put, letter) for letter in letters])
        outcomes = zip(failed, results, strict=True)
        return {work.fact: result for (work, _), result in outcomes if isinstance(result, Exception)}

    async def _close_mended_again(self, works: Sequence[Work]) -> dict[str, Exception]:
        """Dead letters of versions that failed before and fit now. After a crash before this, one is left that a
        replay closes."""
        mended = [(work, generation) for work in works for generation in work.decision.mended_again]
        if not mended:
            return {}
        close = partial(self._dead_letters.close, is_claimed=True)
        results = await self._run_all(
            [partial(close, work.change, generation.index.name) for work, generation in mended]
        )
        outcomes = zip(mended, results, strict=True)
        return {work.fact: result for (work, _), result in outcomes if isinstance(result, Exception)}

    async def _announce_tombstones(
        self, works: Sequence[Work], trims: Sequence[tuple[str, Trim]]
    ) -> dict[str, Exception]:
        """Messages come after the tombstones they name, and before the facts are finished."""
        removals = [(work.fact, part) for work in works for part in work.decision.writes if part.left]
        results = await self._run_all(
            [partial(self._sweep_queue.send, message) for message in pack(_tombstones([*trims, *removals]))]
        )
        errors = [result for result in results if isinstance(result, Exception)]
        # Which facts a message named does not matter: the batch comes back as a whole.
        return {fact: errors[0] for fact, _ in [*trims, *removals]} if errors else {}


def _writes(works: Iterable[Work]) -> list[tuple[str, PartWrites]]:
    return [(work.fact, part) for work in works for part in work.decision.writes]


def _tombstones(parts: Iterable[tuple[str, PartWrites | Trim]]) -> Iterable[Tombstone]:
    for _, part in parts:
        for left in part.left:
            yield Tombstone(place_of(part.generation, left.partition), left.pair, part.version)


def _incomplete(source: str, failures: dict[str, Exception], total: int) -> IncompleteBatchError:
    first = next(iter(failures.values()))
    error = IncompleteBatchError(
        f'{len(failures)} of {total} facts of source "{source}" were not applied: {first} The batch must come again.'
    )
    error.__cause__ = first
    return error


def _outcome(plan: SourcePlan, received: int, facts: int, claims: Claims) -> Outcome:
    outcome = Outcome(received=received, coalesced=received - facts)
    for work in claims.claimed:
        decision = work.decision
        written = sum([len(part.live) for part in decision.writes])
        removed = sum([len(part.left) for part in decision.writes])
        for part in decision.writes:
            outcome.count_entries(part.generation.index.name, len(part.live), len(part.left))
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
            outcome.dropped_with_higher_lsn += plan.has_lsn and work.change.version[_LSN] > newer[_LSN]
    return outcome
