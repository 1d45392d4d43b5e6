"""What to do with a change, given what the ledger says about its fact. Pure: the protocol's steps 1 and 2.

The decision is made for each generation, from its state in the ledger row. When the state's version is newer than the
change's, the change is dropped, also where an account is owed an older one. Otherwise each share of the generation, its
entries in one storage account, is claimed, claimed again, written again or frozen: see `decide_share`.

Entries that a redelivery cannot project, and that may not be written yet, make the claim fail at the same version.
Not while any of them are owed: the version may have been acknowledged, and if this worker ended before its dead letter,
the debt would be all that is left of the change. A delivery pays the debt of a version that failed without its entries.

Entries of periods that are over are neither written nor hidden any more. They count as absent, in the ledger and in
the projection.

A delivery brings one account what it is owed, without a feed that would bring it again:
- Only that account's share is decided, so that no version moves in one account alone. If the generation as a whole is
  behind, as after an old page of a build, all of its shares are, and all of them are owed until they are written.
- A generation that failed at this version stays failed: only a replay lifts a failure, in all accounts.
- A change that this code cannot project, and other code could, is left to that code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from shared.entries.projection.project_all import Failure, entries_in_open_periods
from shared.pipeline.apply.decide_share import ShareDecision, ShareTask, decide_share
from shared.pipeline.ledger.rows import GenerationState, LedgerRow
from shared.pipeline.ledger.shares import Share, ShareKey, merged, shares_of
from shared.pipeline.ledger.without_expired_periods import without_expired_periods

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan
    from shared.entries.projection.project_all import GenerationEntries
    from shared.pipeline.entry_writes.writes import EarlyRemoval, GenerationWrites
    from shared.pipeline.ledger.cache import KnownRow
    from shared.pipeline.ledger.rows import CurrentEntry, OwedShare, RemovedEntry

# Why a generation that a delivery finds failed has no entries; its dead letter has the real reason.
_KEPT_FAILURE: Final = Failure("notEvaluable", "it failed when it was claimed")


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
    # Shares that were known to be finished before, and that this decision does not touch.
    still_finished: frozenset[ShareKey]
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
    down: AbstractSet[str] = frozenset(),
) -> Decision:
    """The decision for one change. With `needs_read`, a cached row is not enough: read the row and decide again.

    `down` are the accounts that are taken for dead. A wrong belief costs work, but nothing is lost by it.
    """
    if plan.is_replay and (newer := _newer_than(change, known.row)) is not None:
        return replace(NOTHING, newer=newer)
    decider = _Decider(change, known, plan, now_seconds, down)
    for projection in projected:
        decider.decide_generation(projection)
    if decider.redelivers and known.is_cached and not decider.claimed:
        return READ_FIRST
    return decider.decision()


class _Decider:
    """Collects one decision, generation by generation."""

    def __init__(
        self, change: Change, known: KnownRow, plan: SourcePlan, now_seconds: int, down: AbstractSet[str]
    ) -> None:
        self._change = change
        self._plan = plan
        self._now_seconds = now_seconds
        self._down = down
        # An entry was dropped before it was written, because its period is over.
        self._came_late = False
        self._known = known
        # By index, not by generation: the successor closes the dead letter of a retired generation.
        self._may_have_dead_letter = {
            plan.index_of(generation) for generation, state in known.row.states.items() if state.may_have_dead_letter
        }
        self.claimed: dict[str, GenerationState] = {}
        self.redelivers = False
        self._touched: set[ShareKey] = set()
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
        if projection.generation.index.name in self._may_have_dead_letter:
            self._indexes_to_check.add(projection.generation.index.name)
        if state is not None and state.version > self._change.version:
            self._newer = max(state.version, self._newer or "")
        elif self._plan.delivers_to is None:
            self._decide_shares(projection, state, shares_of(projection.generation, state, projection.entries))
        elif state is not None:
            self._deliver(self._plan.delivers_to, projection, state)

    def _deliver(self, account: str, projection: GenerationEntries, state: GenerationState) -> None:
        """Decide what brings an account what it is owed."""
        is_behind = state.version < self._change.version
        if all(owed.account != account for owed in state.owed):
            return
        if state.failed and not is_behind:
            projection = projection.failing(_KEPT_FAILURE)
        elif projection.failure is not None:
            return
        shares = shares_of(projection.generation, state, projection.entries)
        self._decide_shares(
            projection, state, shares, decided=[share for share in shares if is_behind or share.account == account]
        )

    def _decide_shares(
        self,
        projection: GenerationEntries,
        state: GenerationState | None,
        shares: Sequence[Share],
        decided: Sequence[Share] | None = None,
    ) -> None:
        """Decide about the shares of a generation; those that are not to be `decided` stay as they are."""
        generation, version = projection.generation, self._change.version
        states: list[GenerationState] = []
        debts: list[OwedShare] = []
        is_done = True
        for share in shares:
            decision = self._decide_share(projection, share) if decided is None or share in decided else None
            states.append(decision.state if decision else share.state or GenerationState(""))
            owed = decision.owed if decision else share.owed
            debts += [] if owed is None else [owed]
            is_done &= decision is None
        if is_done:
            return
        self._note_failure(projection)
        is_same = state is not None and state.version == version
        self.redelivers |= is_same
        is_failed = projection.failure is not None
        if state is not None and is_same:
            has_failed = state.failed or is_failed
            is_failed &= state.failed or not state.owed
            failed_before = state.failed_before or (has_failed and not is_failed)
        else:
            failed_before = generation.index.name in self._may_have_dead_letter
        whole = GenerationState(version, failed=is_failed, failed_before=failed_before, owed=tuple(debts))
        claimed = merged(whole, states, _order(projection, state, is_same=is_same))
        if claimed != state:
            self.claimed[generation.id] = claimed

    def _decide_share(self, projection: GenerationEntries, share: Share) -> ShareDecision | None:
        key = ShareKey(projection.generation.id, share.account)
        decision = decide_share(
            ShareTask(
                projection.generation,
                share,
                self._change.version,
                is_failing=projection.failure is not None,
                is_finished=key in self._known.finished,
                is_down=share.account in self._down,
                is_delivery=self._plan.delivers_to is not None,
                removed_max=self._plan.removed_max,
                now_seconds=self._now_seconds,
            )
        )
        if decision is not None:
            self._touched.add(key)
            self._writes += [] if decision.writes is None else [decision.writes]
            self._early_removals += [] if decision.early_removal is None else [decision.early_removal]
        return decision

    def _note_failure(self, projection: GenerationEntries) -> None:
        """A delivery puts no dead letter: what it brings failed when it was claimed, and has one."""
        if projection.failure is not None and self._plan.delivers_to is None:
            self._failed.append(projection)
            self._indexes_to_check.add(projection.generation.index.name)

    def decision(self) -> Decision:
        """The decision about all generations."""
        return Decision(
            self._row() if self.claimed else None,
            tuple(self._writes),
            tuple(self._early_removals),
            tuple(self._failed),
            tuple(sorted(self._indexes_to_check)),
            self._known.finished - self._touched,
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


def _order(projection: GenerationEntries, state: GenerationState | None, *, is_same: bool) -> list[tuple[str, str]]:
    """The entry keys in the order in which a ledger row lists them: at the same version as it has them already."""
    new = [(entry.partition_key, entry.entry_key) for entry in projection.entries]
    listed: list[CurrentEntry | RemovedEntry] = [] if state is None else [*state.current, *state.removed]
    old = [(entry.partition, entry.entry_key) for entry in listed]
    return [*old, *new] if is_same else [*new, *old]
