"""What to do with one share of a change: its entries in one storage account. Pure.

`v` is the change's version. What the share stands at decides:
- Older than `v`, or nothing yet: claim `v`.
  - An entry whose columns did not change stays in `current` with the version that its row has. The row is written again
    unless the writes of the previous version are known to be finished.
  - An entry that the fact had and no longer has goes into `removed`, and a tombstone hides it.
  - Entries that were in `removed` before are dropped if the previous version is known to be finished. Otherwise they
    stay in `removed` and get tombstones again. If they are too many, they are removed early instead: their tombstones
    are written again before the claim, at the version that the ledger holds. At the new version these tombstones would
    hide rows of a claim in between.
- `v`, and failed, and the change fits now: claim `v` again. Its rows are written just above `v`, and tombstones above
  the rows that earlier code wrote there.
- `v`: this is a redelivery. Unless the writes of `v` are known to be finished, write again what the state says.

While the account is taken for dead, the share is frozen instead: it stays exactly as it is, since that is what may be
in the account, and is owed from now on. A share that is owed stays owed when `v` is claimed: the debt ends after the
writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from shared.entries.keys.versions import newest_of_same_clock, next_version
from shared.pipeline.entry_writes.writes import EarlyRemoval, GenerationWrites, LiveWrite, Removal
from shared.pipeline.ledger.rows import CurrentEntry, GenerationState, OwedShare, RemovedEntry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.entries.projection.generations import Generation
    from shared.entries.projection.projector import Entry
    from shared.pipeline.ledger.shares import Share


class ShareTask(NamedTuple):
    """A share, the version that it is to be brought to, and what is known about it. A named tuple, as there is one per
    fact and generation: it is made in less than half a frozen dataclass's time."""

    generation: Generation
    share: Share
    version: str
    # The change does not fit: there are no entries.
    is_failing: bool
    # The writes of what the share stands at are known to be finished.
    is_finished: bool
    # The account is taken for dead.
    is_down: bool
    # What is claimed is owed until it is written, because no feed brings it again.
    is_delivery: bool
    removed_max: int
    now_seconds: int


class ShareDecision(NamedTuple):
    """What the share stands at from now on, since when it is owed (None: not at all), and what to write."""

    state: GenerationState
    owed: OwedShare | None
    writes: GenerationWrites | None = None
    early_removal: EarlyRemoval | None = None


def decide_share(task: ShareTask) -> ShareDecision | None:
    """The decision about one share; None when everything in it is known to be done."""
    share, state = task.share, task.share.state
    is_behind = state is None or state.version < task.version
    is_lifted = state is not None and not is_behind and state.failed and not task.is_failing
    # In an empty share there is nothing to write: its account need not answer.
    if task.is_down and not share.is_empty:
        return _freeze(task, is_wanting=is_behind or is_lifted)
    if state is None or is_behind:
        return _claim(task, state)
    if is_lifted:
        return _claim_again(task, state)
    return _redeliver(task, state) if share.owed is not None or not task.is_finished else None


def _freeze(task: ShareTask, *, is_wanting: bool) -> ShareDecision | None:
    state = task.share.state or GenerationState("")
    if task.share.owed is None and not is_wanting and task.is_finished:
        return None
    return ShareDecision(state, _owed(task, state.version, failed=state.failed))


def _owed(task: ShareTask, version: str, *, failed: bool) -> OwedShare:
    since_seconds = task.now_seconds if task.share.owed is None else task.share.owed.since_seconds
    return OwedShare(task.share.account, version, failed, since_seconds)


def _owed_when_claimed(task: ShareTask) -> OwedShare | None:
    is_owed = task.share.owed is not None or task.is_delivery
    return _owed(task, task.version, failed=task.is_failing) if is_owed else None


def _claim(task: ShareTask, state: GenerationState | None) -> ShareDecision:
    is_finished = state is None or task.is_finished
    before = {} if state is None else {(entry.partition, entry.entry_key): entry for entry in state.current}
    current, writes = [], []
    for entry in task.share.entries:
        old = before.pop((entry.partition_key, entry.entry_key), None)
        if old is not None and old.digest == entry.digest:
            current.append(old)
            if not is_finished:
                writes.append(_live_write(entry, old.version, None))
        else:
            current.append(CurrentEntry(entry.partition_key, entry.entry_key, task.version, entry.digest))
            writes.append(_live_write(entry, task.version, None if old is None else old.version))
    removed = [RemovedEntry(old.partition, old.entry_key, old.version) for old in before.values()]
    removals = [Removal(*old) for old in removed]
    early_removal = None
    if state is not None and state.removed and not is_finished:
        if len(state.removed) > task.removed_max:
            tombstones = tuple(_without_rows(state.removed))
            early_removal = EarlyRemoval(task.generation, state.tombstone_version, tombstones)
        else:
            carried_over = _carried(task, state)
            removed += carried_over
            removals += _without_rows(carried_over)
    claimed = GenerationState(task.version, tuple(current), tuple(removed))
    return ShareDecision(
        claimed,
        _owed_when_claimed(task),
        GenerationWrites(task.generation, task.version, tuple(writes), tuple(removals), account=task.share.account),
        early_removal,
    )


def _carried(task: ShareTask, state: GenerationState) -> list[RemovedEntry]:
    """The removed entries of an unfinished version that stay in `removed`."""
    keys = {(entry.partition_key, entry.entry_key) for entry in task.share.entries}
    return [old for old in state.removed if (old.partition, old.entry_key) not in keys]


def _claim_again(task: ShareTask, state: GenerationState) -> ShareDecision:
    """Claim a version again that failed before and does not fail any more. Its tombstones are at `v`, and the worker
    that failed may still be writing them: rows are written just above `v`, where a late tombstone cannot hide them."""
    entries = task.share.entries
    keys = {(entry.partition_key, entry.entry_key) for entry in entries}
    # A failed state has current entries only if this version was claimed by code that could project it, and then
    # claimed as failed by code that could not.
    before = [*state.removed, *(RemovedEntry(old.partition, old.entry_key, old.version) for old in state.current)]
    row_version = next_version(newest_of_same_clock(task.version, [old.version for old in before]))
    removed = tuple([old for old in before if (old.partition, old.entry_key) not in keys])
    current = tuple(
        [CurrentEntry(entry.partition_key, entry.entry_key, row_version, entry.digest) for entry in entries]
    )
    claimed = GenerationState(task.version, current, removed)
    writes = GenerationWrites(
        task.generation,
        claimed.tombstone_version,
        tuple([_live_write(entry, row_version, None) for entry in entries]),
        tuple(_without_rows(removed)),
        must_list=True,
        account=task.share.account,
    )
    return ShareDecision(claimed, _owed_when_claimed(task), writes)


def _redeliver(task: ShareTask, state: GenerationState) -> ShareDecision:
    """Write again what the state says. The same version of a fact has the same entries, so their columns are known
    here; unless the code that claimed them could project what this code cannot. Then it is not known whether they were
    written, and a dead letter says so: the generation has failed, unless it owes."""
    versions = {(entry.partition, entry.entry_key): entry.version for entry in state.current}
    live_writes = tuple(
        [
            _live_write(entry, versions[entry.partition_key, entry.entry_key], None)
            for entry in task.share.entries
            if (entry.partition_key, entry.entry_key) in versions
        ]
    )
    writes = GenerationWrites(
        task.generation,
        state.tombstone_version,
        live_writes,
        tuple(_without_rows(state.removed)),
        must_list=True,
        is_whole=len(live_writes) == len(state.current),
        account=task.share.account,
    )
    return ShareDecision(state, task.share.owed, writes)


def _without_rows(removed: Iterable[RemovedEntry]) -> list[Removal]:
    """Removals without rows to delete: the worker that claimed them as removed deleted the rows, or the sweep will."""
    return [Removal(old.partition, old.entry_key, None) for old in removed]


def _live_write(entry: Entry, version: str, replaces: str | None) -> LiveWrite:
    return LiveWrite(entry.partition_key, entry.entry_key, version, entry.columns, replaces)
