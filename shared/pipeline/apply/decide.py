"""What to do with a change, given what the ledger says about its fact. Pure: the protocol's steps 1 and 2.

The decision is made for each generation, from its state in the ledger row. `v` is the change's version.
- The state's version is newer: drop the change.
- It is `v`: this is a redelivery. If the writes of `v` are known to be finished, there is nothing to do. Otherwise
  write again what the state says.
- It is older, or there is no state: claim `v`.
  - An entry whose columns did not change stays in `current` with the version that its row has. The row is written again
    unless the writes of the previous version are known to be finished.
  - An entry that the fact had and no longer has goes into `removed`, and a tombstone hides it.
  - Entries that were in `removed` before are dropped if the previous version is known to be finished. Otherwise they
    stay in `removed` and get tombstones again. If they are too many, they are removed early instead: their tombstones
    are written again before the claim, at the version that the ledger holds. At the new version these tombstones would
    hide rows of a claim in between.
- It is `v` and failed, and the change fits now: claim `v` again. Its rows are written just above `v`, and tombstones
  above the rows that earlier code wrote there.
- It is `v`, did not fail and may not be written yet, and this code cannot project the change: claim `v` as failed.

Entries of periods that are over are neither written nor hidden any more. They count as absent, in the ledger and in
the projection.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from shared.entries.keys.versions import newest_of_same_clock, next_version
from shared.entries.projection.project_all import entries_in_open_periods
from shared.pipeline.entry_writes.writes import EarlyRemoval, GenerationWrites, LiveWrite, Removal
from shared.pipeline.ledger.rows import CurrentEntry, GenerationState, LedgerRow, RemovedEntry
from shared.pipeline.ledger.without_expired_periods import without_expired_periods

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan
    from shared.entries.projection.project_all import GenerationEntries
    from shared.entries.projection.projector import Entry
    from shared.pipeline.ledger.cache import KnownRow


@dataclass(frozen=True, slots=True)
class Decision:
    """What to claim (None: nothing), what to write before and after the claim, and which dead letters change.

    A dead letter is put after the claim that says `failed`; a redelivery puts it again. `indexes_to_check` are the
    indexes where the fact may have a dead letter. As its last step, every worker checks whether it is still due
    (`dead_letters/due.py`).
    """

    claim: LedgerRow | None
    writes: tuple[GenerationWrites, ...]
    early_removals: tuple[EarlyRemoval, ...]
    failed: tuple[GenerationEntries, ...]
    indexes_to_check: tuple[str, ...]
    # Generations that were known to be finished before, and that this decision does not touch.
    still_finished: frozenset[str]
    # The newest version that made a generation drop the change.
    newer: str | None
    needs_read: bool = False


NOTHING: Final = Decision(None, (), (), (), (), frozenset(), None)
READ_FIRST: Final = replace(NOTHING, needs_read=True)


def decide(
    change: Change,
    projected: Sequence[GenerationEntries],
    known: KnownRow,
    plan: SourcePlan,
    now_seconds: int,
) -> Decision:
    """The decision for one change. With `needs_read`, a cached row is not enough: read the row and decide again."""
    if plan.is_replay and (newer := _newer_than(change, known.row)) is not None:
        return replace(NOTHING, newer=newer)
    decider = _Decider(change, known, plan, now_seconds)
    for projection in projected:
        decider.decide_generation(projection)
    if decider.redelivers and known.is_cached and not decider.claimed:
        return READ_FIRST
    return decider.decision()


class _Decider:
    """Collects one decision, generation by generation."""

    def __init__(self, change: Change, known: KnownRow, plan: SourcePlan, now_seconds: int) -> None:
        self._change = change
        self._plan = plan
        self._now_seconds = now_seconds
        # An entry was dropped before it was written, because its period is over.
        self._came_late = False
        self._known = known
        # By index, not by generation: the successor closes the dead letter of a retired generation.
        self._may_have_dead_letter = {
            plan.index_of(generation) for generation, state in known.row.states.items() if state.may_have_dead_letter
        }
        self.claimed: dict[str, GenerationState] = {}
        self.redelivers = False
        self._writes: list[GenerationWrites] = []
        self._early_removals: list[EarlyRemoval] = []
        self._failed: list[GenerationEntries] = []
        self._indexes_to_check: set[str] = set()
        self._newer: str | None = None

    def decide_generation(self, projection: GenerationEntries) -> None:
        """Decide about one generation."""
        state = self._known.row.states.get(projection.generation.id)
        if projection.generation.periods is not None:
            state = None if state is None else without_expired_periods(state, projection.generation, self._now_seconds)
            in_open_periods = entries_in_open_periods(projection, self._now_seconds)
            self._came_late |= in_open_periods is not projection
            projection = in_open_periods
        version = self._change.version
        if projection.generation.index.name in self._may_have_dead_letter:
            self._indexes_to_check.add(projection.generation.index.name)
        if state is None or state.version < version:
            self._claim(projection, state)
        elif state.version > version:
            self._newer = max(state.version, self._newer or "")
        elif state.failed and projection.failure is None:
            self._claim_again(projection, state)
        elif projection.generation.id not in self._known.finished:
            self._redeliver(projection, state)

    def _claim(self, projection: GenerationEntries, state: GenerationState | None) -> None:
        is_finished = state is None or projection.generation.id in self._known.finished
        before = {} if state is None else {(entry.partition, entry.entry_key): entry for entry in state.current}
        current, writes = [], []
        for entry in projection.entries:
            old = before.pop((entry.partition_key, entry.entry_key), None)
            if old is not None and old.digest == entry.digest:
                current.append(old)
                if not is_finished:
                    writes.append(_live_write(entry, old.version, None))
            else:
                current.append(CurrentEntry(entry.partition_key, entry.entry_key, self._change.version, entry.digest))
                writes.append(_live_write(entry, self._change.version, None if old is None else old.version))
        removed = [RemovedEntry(old.partition, old.entry_key, old.version) for old in before.values()]
        removals = [Removal(*old) for old in removed]
        if state is not None and state.removed and not is_finished:
            carried_over = self._carried(projection, state)
            removed += carried_over
            removals += _without_rows(carried_over)
        self._note_failure(projection)
        self.claimed[projection.generation.id] = GenerationState(
            self._change.version,
            tuple(current),
            tuple(removed),
            failed=projection.failure is not None,
            failed_before=projection.generation.index.name in self._may_have_dead_letter,
        )
        self._writes.append(
            GenerationWrites(projection.generation, self._change.version, tuple(writes), tuple(removals))
        )

    def _carried(self, projection: GenerationEntries, state: GenerationState) -> list[RemovedEntry]:
        """The removed entries of an unfinished version that stay in `removed`; none when they are removed early."""
        if len(state.removed) > self._plan.removed_max:
            self._early_removals.append(
                EarlyRemoval(projection.generation, state.tombstone_version, tuple(_without_rows(state.removed)))
            )
            return []
        keys = {(entry.partition_key, entry.entry_key) for entry in projection.entries}
        return [old for old in state.removed if (old.partition, old.entry_key) not in keys]

    def _claim_again(self, projection: GenerationEntries, state: GenerationState) -> None:
        """Claim a version again that failed before and does not fail any more. Its tombstones are at `v`, and the
        worker that failed may still be writing them: rows are written just above `v`, where a late tombstone cannot
        hide them."""
        version = self._change.version
        keys = {(entry.partition_key, entry.entry_key) for entry in projection.entries}
        # A failed state has current entries only if this version was claimed by code that could project it, and then
        # claimed as failed by code that could not.
        before = [*state.removed, *(RemovedEntry(old.partition, old.entry_key, old.version) for old in state.current)]
        row_version = next_version(newest_of_same_clock(version, [old.version for old in before]))
        removed = tuple([old for old in before if (old.partition, old.entry_key) not in keys])
        current = tuple(
            [
                CurrentEntry(entry.partition_key, entry.entry_key, row_version, entry.digest)
                for entry in projection.entries
            ]
        )
        claimed = GenerationState(version, current, removed, failed_before=True)
        self.claimed[projection.generation.id] = claimed
        writes = tuple([_live_write(entry, row_version, None) for entry in projection.entries])
        removals = tuple(_without_rows(removed))
        self._writes.append(
            GenerationWrites(projection.generation, claimed.tombstone_version, writes, removals, must_list=True)
        )

    def _redeliver(self, projection: GenerationEntries, state: GenerationState) -> None:
        """Write again what the state says. The same version of a fact has the same entries, so their columns are known
        here; unless the code that claimed them could project what this code cannot. Then it is not known whether they
        were written: the generation has failed, and a dead letter says so."""
        self.redelivers = True
        versions = {(entry.partition, entry.entry_key): entry.version for entry in state.current}
        writes = tuple(
            [
                _live_write(entry, versions[entry.partition_key, entry.entry_key], None)
                for entry in projection.entries
                if (entry.partition_key, entry.entry_key) in versions
            ]
        )
        self._note_failure(projection)
        if projection.failure is not None and not state.failed:
            self.claimed[projection.generation.id] = replace(state, failed=True)
        removals = tuple(_without_rows(state.removed))
        is_whole = len(writes) == len(state.current)
        self._writes.append(
            GenerationWrites(
                projection.generation, state.tombstone_version, writes, removals, must_list=True, is_whole=is_whole
            )
        )

    def _note_failure(self, projection: GenerationEntries) -> None:
        if projection.failure is not None:
            self._failed.append(projection)
            self._indexes_to_check.add(projection.generation.index.name)

    def decision(self) -> Decision:
        """The decision about all generations."""
        touched = {writes.generation.id for writes in self._writes}
        return Decision(
            self._row() if self.claimed else None,
            tuple(self._writes),
            tuple(self._early_removals),
            tuple(self._failed),
            tuple(sorted(self._indexes_to_check)),
            self._known.finished - touched,
            self._newer,
        )

    def _row(self) -> LedgerRow:
        old = self._known.row
        carried_over = {
            generation: state for generation, state in old.states.items() if generation not in self._plan.retired
        }
        states = {**carried_over, **self.claimed}
        if not self._is_newest(old.states):
            return LedgerRow(states, old.source_etag, old.deleted_at_seconds, _if_empty(states, old.expired_at_seconds))
        if self._change.is_delete:
            return LedgerRow(states, self._change.source_etag, self._now_seconds)
        # A build brings a version that the ledger already has to another generation: what has expired stays expired.
        is_known = any(state.version == self._change.version for state in old.states.values())
        expired_before = old.expired_at_seconds if is_known else None
        expired_at = self._now_seconds if self._came_late else expired_before
        return LedgerRow(states, self._change.source_etag, None, _if_empty(states, expired_at))

    def _is_newest(self, states: Mapping[str, GenerationState]) -> bool:
        return all(state.version <= self._change.version for state in states.values())


def _if_empty(states: Mapping[str, GenerationState], expired_at_seconds: int | None) -> int | None:
    """When the last entry expired; None while there are entries. An older change may bring some to a new generation."""
    return None if any(state.current for state in states.values()) else expired_at_seconds


def _newer_than(change: Change, row: LedgerRow) -> str | None:
    """The newest version of the fact in any generation, if it is newer than the change; else None."""
    newest = max([state.version for state in row.states.values()], default="")
    return newest if newest > change.version else None


def _without_rows(removed: Iterable[RemovedEntry]) -> list[Removal]:
    """Removals without rows to delete: the worker that claimed them as removed deleted the rows, or the sweep will."""
    return [Removal(old.partition, old.entry_key, None) for old in removed]


def _live_write(entry: Entry, version: str, replaces: str | None) -> LiveWrite:
    return LiveWrite(entry.partition_key, entry.entry_key, version, entry.columns, replaces)
