"""What a transaction changes, given the rows as they were seen. Pure.

- A contribution row that has `at` or a higher version stays as it is.
- Else the total of its lane loses what *that row* says, and gains what is wanted. What the ledger says does not matter:
  it was claimed, perhaps never written.
- A contribution stays in its lane until its row is swept; a new one goes into the lane of this worker.
- A total without facts goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

from shared.entries.rows.columns import KEY, take_text
from shared.entries.summaries.rows import (
    StoredContribution,
    StoredTotal,
    contribution_in,
    contribution_row,
    gone_row,
    total_key,
    total_row,
)
from shared.pipeline.summaries.row_cache import ContributionState, TotalState
from shared.tables.port import Delete, Insert, Replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from shared.entries.summaries.totals import Contribution, SummaryLayout, Total
    from shared.pipeline.summaries.row_cache import RowState
    from shared.pipeline.summaries.wanted import WantedContribution
    from shared.tables.port import Entity, Operation


class GroupLane(NamedTuple):
    """Which total: the encoded sort parts of its group, and the lane."""

    sort: str
    lane: int

    @property
    def row_key(self) -> str:
        """The RowKey of the total."""
        return total_key(self.sort, self.lane)


@dataclass(frozen=True, slots=True)
class ContributionChange:
    """A contribution row that is written: what its total loses and gains."""

    wanted: WantedContribution
    seen: ContributionState
    lane: int
    loses: Contribution | None
    gains: Contribution | None

    @property
    def is_of_damaged_row(self) -> bool:
        """Whether it is not known what the total loses."""
        return self.seen.etag is not None and self.seen.stored is None

    @property
    def touches_total(self) -> bool:
        """Whether its total changes; a row that is gone and was not there changes nothing."""
        return self.loses is not None or self.gains is not None or self.is_of_damaged_row


class RowWrite(NamedTuple):
    """An operation of a transaction, and the row as it is after it, but for the ETag."""

    row_key: str
    operation: Operation
    after: RowState


def changes_of(
    wanted: Iterable[WantedContribution],
    seen: Mapping[str, ContributionState],
    layout: SummaryLayout,
    lane_of: Callable[[str], int],
) -> list[ContributionChange]:
    """The contribution rows to write."""
    return [_change(each, seen[each.row_key], layout, lane_of) for each in wanted if _is_due(each, seen[each.row_key])]


def _is_due(wanted: WantedContribution, seen: ContributionState) -> bool:
    if wanted.wrong_etag is not None and wanted.wrong_etag == seen.etag:
        return True
    return seen.stored is None or seen.stored.at < wanted.at


def _change(
    wanted: WantedContribution, seen: ContributionState, layout: SummaryLayout, lane_of: Callable[[str], int]
) -> ContributionChange:
    stored = seen.stored
    lane = lane_of(wanted.sort) if stored is None else stored.lane
    gains = None if wanted.columns is None else contribution_in(wanted.columns, layout)
    return ContributionChange(wanted, seen, lane, None if stored is None else stored.contribution, gains)


def changed_totals(changes: Iterable[ContributionChange]) -> dict[GroupLane, list[ContributionChange]]:
    """The changes by the total that they change."""
    by_total: dict[GroupLane, list[ContributionChange]] = {}
    for change in changes:
        if change.touches_total:
            by_total.setdefault(GroupLane(change.wanted.sort, change.lane), []).append(change)
    return by_total


def total_after(seen: TotalState, changes: Sequence[ContributionChange], layout: SummaryLayout) -> Total | None:
    """The total after these changes; None when only its contributions can tell."""
    if seen.etag is not None and seen.stored is None:
        return None
    total = layout.empty if seen.stored is None else seen.stored.total
    for change in changes:
        if change.gains is not None:
            total = total.plus(change.gains)
    for change in changes:
        if change.loses is not None:
            total = total.minus(change.loses)
    is_lost = total.is_broken or any(change.is_of_damaged_row for change in changes)
    return None if is_lost else total


def total_write(
    partition: str, group: GroupLane, seen: TotalState, after: Total, key: str, layout: SummaryLayout
) -> RowWrite:
    """How the row of a total becomes this one. One without facts goes. Where there is none, an empty one is inserted:
    something must fail when another worker has just inserted it."""
    if not after.facts and seen.etag is not None:
        return RowWrite(group.row_key, Delete(partition, group.row_key, seen.etag), TotalState())
    stored = StoredTotal(after, key)
    row = total_row(partition, group.row_key, stored, layout)
    return RowWrite(group.row_key, _conditional(row, seen.etag), TotalState(None, stored))


def contribution_write(partition: str, change: ContributionChange) -> RowWrite:
    """How the row of a contribution becomes the wanted one."""
    wanted = change.wanted
    if wanted.columns is None:
        row = gone_row(partition, wanted.row_key, wanted.at, change.lane)
    else:
        row = contribution_row(partition, wanted.row_key, wanted.at, change.lane, wanted.columns)
    stored = StoredContribution(wanted.at, change.lane, change.gains, wanted.columns or {})
    return RowWrite(wanted.row_key, _conditional(row, change.seen.etag), ContributionState(None, stored))


def key_of_group(seen: TotalState, changes: Iterable[ContributionChange]) -> str:
    """The values of the key parts of a group, from a contribution that it gains, else from the row that is there."""
    for change in changes:
        columns = change.wanted.columns
        if columns is not None:
            return cast(str, take_text(columns, KEY))
    stored = [change.seen.stored for change in changes if change.seen.stored is not None]
    texts = [seen.stored.key] if seen.stored is not None else [take_text(each.columns, KEY) for each in stored]
    return next((text for text in texts if text is not None), "{}")


def _conditional(row: Entity, etag: str | None) -> Insert | Replace:
    return Insert(row) if etag is None else Replace(row, etag)
