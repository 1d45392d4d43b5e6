"""What to do with a change, given what the ledger says about its fact. Pure: the protocol's steps 1 and 2.

Per part, `v` being the change's version:
- the ledger's version is newer: drop;
- it is `v`: a redelivery. Nothing to do when its writes are known finished, else write what the part says;
- it is older, or there is none: claim `v`. An entry whose columns did not change keeps its row (`at`), which is
  written again unless the previous version's writes are known finished. What the fact had and no longer has is
  `left`, to be hidden by tombstones. What it had left before is forgotten when the previous version is finished.
  Otherwise it stays `left` and gets tombstones again; or, when that is too much, it is trimmed: tombstones are
  written again before the claim, at the version that the ledger holds. At the new version they would hide rows
  of a claim in between;
- it is `v` and failed, and the change fits now: claim `v` again, with rows just above it, and tombstones above those
  that earlier code wrote there;
- it is `v`, not failed and perhaps not written, and this code cannot project it: claim `v` as failed.

Entries of periods that are over are neither written nor hidden any more: they are not there, in ledger and projection.
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
    """What to claim (none: nothing), what to write before and after it, and which dead letters change.

    A dead letter is put after the claim that says `failed`; a redelivery puts it again. `lettered` are the indexes
    whose letter of the fact may be due or not: it is looked at last, by any worker (`dead_letters/due.py`).
    """

    claim: LedgerRow | None
    writes: tuple[GenerationWrites, ...]
    early_removals: tuple[EarlyRemoval, ...]
    failed: tuple[GenerationEntries, ...]
    indexes_to_check: tuple[str, ...]
    # Parts known finished before, and still as they were.
    still_finished: frozenset[str]
    # The newest version that made a part drop the change.
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
    """The decision for one change. With `needs_read` a cached row was not enough."""
    if plan.is_replay and (newer := _newer_than(change, known.row)) is not None:
        return replace(NOTHING, newer=newer)
    decider = _Decider(change, known, plan, now_seconds)
    for projection in projected:
        decider.decide_generation(projection)
    if decider.redelivers and known.is_cached and not decider.claimed:
        return READ_FIRST
    return decider.decision()


class _Decider:
    """Collects the parts of one decision."""

    def __init__(self, change: Change, known: KnownRow, plan: SourcePlan, now_seconds: int) -> None:
        self._change = change
        self._plan = plan
        self._now_seconds = now_seconds
        # An entry was let go before it was written: its period is over.
        self._came_late = False
        self._known = known
        # By index, not by part: the letter of a generation that is retired is closed by its successor.
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
        """Decide about one part."""
        state = self._known.row.states.get(projection.generation.id)
        if projection.generation.periods is not None:
            state = None if state is None else without_expired_periods(state, projection.generation, self._now_seconds)
            there = entries_in_open_periods(projection, self._now_seconds)
            self._came_late |= there is not projection
            projection = there
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
        """What stays left from an unfinished version; nothing when it is trimmed."""
        if len(state.removed) > self._plan.removed_max:
            self._early_removals.append(
                EarlyRemoval(projection.generation, state.tombstones_at, tuple(_without_rows(state.removed)))
            )
            return []
        keys = {(entry.partition_key, entry.entry_key) for entry in projection.entries}
        return [old for old in state.removed if (old.partition, old.entry_key) not in keys]

    def _claim_again(self, projection: GenerationEntries, state: GenerationState) -> None:
        """A part that failed at this very version and does not fail any more. Its tombstones are at `v`, and whoever
        failed may still be writing them: the rows are written just above, where a late tombstone cannot hide them."""
        version = self._change.version
        keys = {(entry.partition_key, entry.entry_key) for entry in projection.entries}
        # Only code that fails where other code has claimed leaves live entries in a failed part.
        before = [*state.removed, *(RemovedEntry(old.partition, old.entry_key, old.version) for old in state.current)]
        at = next_version(newest_of_same_clock(version, [old.version for old in before]))
        removed = tuple([old for old in before if (old.partition, old.entry_key) not in keys])
        current = tuple(
            [CurrentEntry(entry.partition_key, entry.entry_key, at, entry.digest) for entry in projection.entries]
        )
        claimed = GenerationState(version, current, removed, failed_before=True)
        self.claimed[projection.generation.id] = claimed
        writes = tuple([_live_write(entry, at, None) for entry in projection.entries])
        removals = tuple(_without_rows(removed))
        self._writes.append(
            GenerationWrites(projection.generation, claimed.tombstones_at, writes, removals, must_list=True)
        )

    def _redeliver(self, projection: GenerationEntries, state: GenerationState) -> None:
        """Write what the part says. The same version of a fact has the same entries, so their columns are here;
        unless the code that claimed them could project what this code cannot. Then nobody may know whether they were
        written: the part has failed, and a dead letter says so."""
        self.redelivers = True
        at = {(entry.partition, entry.entry_key): entry.version for entry in state.current}
        writes = tuple(
            [
                _live_write(entry, at[entry.partition_key, entry.entry_key], None)
                for entry in projection.entries
                if (entry.partition_key, entry.entry_key) in at
            ]
        )
        self._note_failure(projection)
        if projection.failure is not None and not state.failed:
            self.claimed[projection.generation.id] = replace(state, failed=True)
        removals = tuple(_without_rows(state.removed))
        is_whole = len(writes) == len(state.current)
        self._writes.append(
            GenerationWrites(
                projection.generation, state.tombstones_at, writes, removals, must_list=True, is_whole=is_whole
            )
        )

    def _note_failure(self, projection: GenerationEntries) -> None:
        if projection.failure is not None:
            self._failed.append(projection)
            self._indexes_to_check.add(projection.generation.index.name)

    def decision(self) -> Decision:
        """Everything together."""
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
        # A build brings the version that the ledger has to another generation: what has expired stays so.
        is_known = any(state.version == self._change.version for state in old.states.values())
        expired_before = old.expired_at_seconds if is_known else None
        expired_at = self._now_seconds if self._came_late else expired_before
        return LedgerRow(states, self._change.source_etag, None, _if_empty(states, expired_at))

    def _is_newest(self, states: Mapping[str, GenerationState]) -> bool:
        return all(state.version <= self._change.version for state in states.values())


def _if_empty(states: Mapping[str, GenerationState], expired_at_seconds: int | None) -> int | None:
    """When the last entry expired, unless there is one: an older change may bring some to a new generation."""
    return None if any(state.current for state in states.values()) else expired_at_seconds


def _newer_than(change: Change, row: LedgerRow) -> str | None:
    """The newest version of a fact that has moved on since the change, in whatever generation; else None."""
    newest = max([state.version for state in row.states.values()], default="")
    return newest if newest > change.version else None


def _without_rows(removed: Iterable[RemovedEntry]) -> list[Removal]:
    """To be hidden; the rows were deleted by whoever claimed that they are left, or the sweep finds them."""
    return [Removal(old.partition, old.entry_key, None) for old in removed]


def _live_write(entry: Entry, at: str, replaces: str | None) -> LiveWrite:
    return LiveWrite(entry.partition_key, entry.entry_key, at, entry.columns, replaces)
