"""Keys that a fact had and no longer has: its ledger row loses them once what they name is swept.

A state lists them as `removed`, for the worker that has to write their tombstones again when a change comes again.
After the sweep no request from before can land any more, and they are only data that should be gone. The steps:

1. The sweeper has deleted the tombstone with all rows that it hides, or found that they are gone. While a row is there
   that the tombstone has yet to hide, the ledger row keeps the key: its worker ended before it wrote the tombstone.
2. The ledger row is read. Only a state at the tombstone's very version loses the key: any other writes tombstones of
   its own, which bring a message of their own. A state that was replayed stands above its version, and keeps its keys:
   the next replay must go above them. So does a share that is owed, whose tombstones are yet to be written.
3. The message is sent once more. A worker that delivers the version again may have read the ledger row before step 4,
   and write the tombstone after it. If it ends before it announces that, nothing else would bring a sweep.
4. The ledger row is written without the keys, if it has not changed. Otherwise it is read again.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from shared.entries.keys.fact_key import fact_hash
from shared.entries.keys.index_keys import split_entry_key
from shared.entries.projection.generations import place_of
from shared.entries.summaries.rows import CONTRIBUTIONS
from shared.errors import StorageUnavailableError
from shared.pipeline.cleanup.messages import Tombstone, to_messages
from shared.pipeline.concurrency import all_of
from shared.pipeline.ledger.ledger_writes import Claim, write_claims
from shared.pipeline.ledger.rows import LEDGER_TABLE, LedgerRow, decode, encode, ledger_partition
from shared.pipeline.summaries.sweeping import ANY_ETAG, GoneContribution

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shared.entries.projection.generations import Generation, Place, SourcePlan
    from shared.pipeline.cleanup.messages import SweepQueue
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.ledger.rows import GenerationState
    from shared.tables.port import Tables

_ATTEMPTS: Final = 5
# The partition of a ledger row, and its fact key.
LedgerKey: TypeAlias = tuple[str, str]


class _SweptKey(NamedTuple):
    """A key that was swept: in which generation and place, and the version of its tombstone."""

    generation: str
    place: Place
    entry_key: str
    version: str
    swept: Tombstone | GoneContribution


class SweptKeys:
    """Takes swept keys out of ledger rows."""

    def __init__(self, ledger: Tables, queue: SweepQueue, run_all: RunAll) -> None:
        self._ledger = ledger
        self._queue = queue
        self._run_all = run_all

    async def forget(self, plans: Iterable[SourcePlan], swept: Iterable[Tombstone | GoneContribution]) -> None:
        """Forget what was swept. Raises when storage fails, so that the message comes back."""
        left = _by_fact([*plans], swept)
        for _ in range(_ATTEMPTS):
            if not left:
                return
            left = await self._try(left)
        if left:
            raise StorageUnavailableError(
                "Ledger rows changed while swept keys were taken out of them: the message must come again.",
                outcome_unknown=False,
            )

    async def _try(self, by_fact: dict[LedgerKey, list[_SweptKey]]) -> dict[LedgerKey, list[_SweptKey]]:
        """Forget what is listed; return what is left because another worker changed the row."""
        reads = [partial(self._ledger.get, LEDGER_TABLE, *key) for key in by_fact]
        claims, listed = [], {}
        for key, found in zip(by_fact, await all_of(self._run_all, reads), strict=True):
            row = LedgerRow() if found is None else decode(found.entity)
            dropped = [swept for swept in by_fact[key] if _is_listed(row, swept)]
            if found is not None and dropped:
                claims.append(Claim(key[1], encode(_without(row, dropped), *key), found.etag))
                listed[key] = dropped
        await self._look_again([swept for dropped in listed.values() for swept in dropped])
        result = await write_claims(self._ledger, claims, self._run_all)
        for error in result.failures.values():
            raise error
        return {key: dropped for key, dropped in listed.items() if key[1] not in result.etags}

    async def _look_again(self, keys: Sequence[_SweptKey]) -> None:
        for message in to_messages([_without_etag(key.swept) for key in keys]):
            await self._queue.send(message)


async def announce_listed(queue: SweepQueue, plan: SourcePlan, row: LedgerRow) -> bool:
    """Ask for another sweep of the keys that a ledger row still lists, since its message was lost; whether it lists
    any. Keys of periods that are over go with their tables."""
    listed = _listed(plan, row)
    for message in to_messages(listed):
        await queue.send(message)
    return bool(listed)


def _listed(plan: SourcePlan, row: LedgerRow) -> list[Tombstone | GoneContribution]:
    found: list[Tombstone | GoneContribution] = []
    for generation in plan.generations:
        state = row.states.get(generation.id)
        if state is None or not _may_lose_keys(state):
            continue
        for old in state.removed:
            place = place_of(generation, old.partition)
            is_entry = generation.layout is None
            found.append(
                Tombstone(place, old.entry_key, state.version)
                if is_entry
                else GoneContribution(place, old.entry_key, state.version, ANY_ETAG)
            )
    return found


def _by_fact(
    plans: Sequence[SourcePlan], swept: Iterable[Tombstone | GoneContribution]
) -> dict[LedgerKey, list[_SweptKey]]:
    """What was swept, by ledger row. Of a generation that this worker does not know, or that is no longer written, the
    ledger keeps its keys."""
    found: dict[LedgerKey, list[_SweptKey]] = {}
    for each in swept:
        for plan in plans:
            for generation in plan.generations:
                if _holds(generation, each.place):
                    entry_key = each.entry_key if isinstance(each, Tombstone) else each.row_key
                    fact_key = _fact_key_in(generation, entry_key)
                    partition = ledger_partition(plan.source, fact_hash(fact_key), plan.buckets)
                    key = _SweptKey(generation.id, each.place, entry_key, each.version, each)
                    found.setdefault((partition, fact_key), []).append(key)
    return found


def _holds(generation: Generation, place: Place) -> bool:
    if place.table == generation.table:
        return True
    return (
        generation.periods is not None
        and place.table.startswith(generation.table)
        and generation.table_of(place.partition) == place.table
    )


def _fact_key_in(generation: Generation, entry_key: str) -> str:
    own = entry_key if generation.layout is None else entry_key.removeprefix(CONTRIBUTIONS)
    return split_entry_key(own, len(generation.index.sort))[1]


def _may_lose_keys(state: GenerationState) -> bool:
    return state.tombstone_version == state.version


def _is_listed(row: LedgerRow, swept: _SweptKey) -> bool:
    """Whether the row still has a key, and need not keep it."""
    state = row.states.get(swept.generation)
    if state is None or state.version != swept.version or not _may_lose_keys(state):
        return False
    if any(share.account == swept.place.account for share in state.owed):
        return False
    return any((old.partition, old.entry_key) == (swept.place.partition, swept.entry_key) for old in state.removed)


def _without(row: LedgerRow, swept: Sequence[_SweptKey]) -> LedgerRow:
    states = dict(row.states)
    for key in swept:
        state = states[key.generation]
        kept = [old for old in state.removed if (old.partition, old.entry_key) != (key.place.partition, key.entry_key)]
        states[key.generation] = replace(state, removed=tuple(kept))
    return replace(row, states=states)


def _without_etag(swept: Tombstone | GoneContribution) -> Tombstone | GoneContribution:
    return swept if isinstance(swept, Tombstone) else swept._replace(etag=ANY_ETAG)
