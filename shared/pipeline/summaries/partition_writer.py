"""Writes contributions of one partition together with their totals: all rows of a transaction are conditional.

    1. prepare     contributions, then totals: from the cache, else read; in any order
    2. judge       what changes, computed from exactly these rows
    3. send        every contribution, and each total once, under the ETags that were seen, or as inserts
    4. conflict    the answer names a row: read that row only; judge again; send again
    5. no answer   forget all rows; the batch comes again, and finds what has landed

So the total of a group is the sum of its contributions at every instant. A worker that loses on a total goes to
another lane with its next new contributions: workers that meet on a hot group part.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from shared.errors import LimitError, OperationFailedError, StorageUnavailableError
from shared.pipeline.summaries.judge import (
    GroupLane,
    changed_totals,
    changes_of,
    contribution_write,
    key_of_group,
    total_after,
    total_write,
)
from shared.pipeline.summaries.recount import count_group
from shared.pipeline.summaries.row_cache import ContributionState
from shared.pipeline.summaries.row_reader import RowReader
from shared.tables.limits import OPERATIONS_MAX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.entries.projection.generations import Place
    from shared.entries.summaries.totals import SummaryLayout
    from shared.pipeline.summaries.judge import ContributionChange, RowWrite
    from shared.pipeline.summaries.lanes import Lanes
    from shared.pipeline.summaries.row_cache import RowCache, TotalState
    from shared.pipeline.summaries.wanted import WantedContribution
    from shared.tables.port import Tables

# A lost round is somebody else's success, so the rounds end. More means that many workers write one group.
_ROUNDS_MAX: Final = 50
# After so many recounts that others made worthless, extremes are left unknown: who needs them next looks again.
_RECOUNTS_MAX: Final = 2


@dataclass(slots=True)
class _Seen:
    """The rows that a transaction is computed from, by RowKey."""

    contributions: dict[str, ContributionState] = field(default_factory=dict)
    totals: dict[str, TotalState] = field(default_factory=dict)
    recounts: int = 0


class PartitionWriter:
    """Writes wanted contributions of one partition."""

    def __init__(
        self,
        tables: Tables,
        place: Place,
        layout: SummaryLayout,
        cache: RowCache,
        lanes: Lanes,
    ) -> None:
        self._tables = tables
        self._place = place
        self._layout = layout
        self._cache = cache
        self._lanes = lanes
        self._reader = RowReader(tables, place, layout, cache)

    async def prepare(self, wanted: WantedContribution) -> None:
        """Have the rows of a contribution in the cache: of a new one its total, of any other itself."""
        if wanted.is_new:
            await self._reader.total(GroupLane(wanted.sort, self._lane_of(wanted.sort)).row_key)
        elif self._reader.known_contribution(wanted.row_key) is None:
            await self._reader.contribution(wanted.row_key)

    async def write(self, wanted: Sequence[WantedContribution]) -> dict[str, str]:
        """Write all in one transaction, or in several when they are too many; return the ETags of rows that are gone
        at their wanted version, whoever wrote them."""
        try:
            return await self._write(wanted)
        except LimitError:
            if len(wanted) == 1:
                raise
            middle = len(wanted) // 2
            return {**await self.write(wanted[:middle]), **await self.write(wanted[middle:])}

    async def _write(self, wanted: Sequence[WantedContribution]) -> dict[str, str]:
        seen = _Seen()
        for each in wanted:
            seen.contributions[each.row_key] = await self._first_look(each)
        for _ in range(_ROUNDS_MAX):
            changes = changes_of(wanted, seen.contributions, self._layout, self._lane_of)
            if not changes:
                return _gone_etags(wanted, seen.contributions)
            writes = await self._writes(changes, seen)
            try:
                return _gone_etags(wanted, seen.contributions | await self._send(writes))
            except OperationFailedError as error:
                await self._look_again(writes[error.index].row_key, seen)
        raise _contended()

    def _lane_of(self, sort: str) -> int:
        return self._lanes.lane_of(self._place, sort)

    async def _first_look(self, wanted: WantedContribution) -> ContributionState:
        known = self._reader.known_contribution(wanted.row_key)
        if known is not None:
            return known
        return ContributionState() if wanted.is_new else await self._reader.contribution(wanted.row_key)

    async def _look_again(self, row_key: str, seen: _Seen) -> None:
        """Read the row that has changed, content and ETag; the others are as they were."""
        if row_key in seen.contributions:
            seen.contributions[row_key] = await self._reader.contribution(row_key)
        else:
            self._lanes.lose(self._place, row_key)
            seen.totals[row_key] = await self._reader.total(row_key)

    async def _writes(self, changes: Sequence[ContributionChange], seen: _Seen) -> list[RowWrite]:
        """Contributions and totals, to be sent together."""
        writes = [contribution_write(self._place.partition, change) for change in changes]
        for group, of_group in changed_totals(changes).items():
            if group.row_key not in seen.totals:
                seen.totals[group.row_key] = await self._reader.total(group.row_key)
            writes.append(await self._total_write(group, of_group, seen))
        if len(writes) > OPERATIONS_MAX:
            raise LimitError(f"A transaction takes at most {OPERATIONS_MAX} rows.")
        return writes

    async def _total_write(self, group: GroupLane, changes: Sequence[ContributionChange], seen: _Seen) -> RowWrite:
        """The total after these changes. Where it cannot tell, its contributions are counted again: its ETag was known
        before, and must still be the same when this is sent."""
        before = seen.totals[group.row_key]
        if total_after(before, changes, self._layout) is None:
            # Most likely only the cache is wrong.
            self._cache.forget(self._place, group.row_key)
            before = seen.totals[group.row_key] = await self._reader.total(group.row_key)
        after, key = total_after(before, changes, self._layout), key_of_group(before, changes)
        if after is None or (after.is_unknown and seen.recounts < _RECOUNTS_MAX):
            seen.recounts += 1
            counted = await count_group(self._tables, self._place, group.sort, self._layout)
            gains = [change.gains for change in changes if change.gains is not None]
            written = [change.wanted.row_key for change in changes]
            after, key = counted.total(self._layout, group.lane, written, gains), counted.key or key
        return total_write(self._place.partition, group, before, after, key, self._layout)

    async def _send(self, writes: Sequence[RowWrite]) -> dict[str, ContributionState]:
        """Send one transaction; the contributions as they are then. Whatever goes wrong, cached rows are in doubt."""
        try:
            etags = await self._tables.transact(self._place.table, [write.operation for write in writes])
        except OperationFailedError as error:
            self._cache.forget(self._place, writes[error.index].row_key)
            raise
        except BaseException:  # also when nobody waits for the answer any more
            for write in writes:
                self._cache.forget(self._place, write.row_key)
            raise
        after = {write.row_key: write.after._replace(etag=etag) for write, etag in zip(writes, etags, strict=True)}
        for row_key, state in after.items():
            self._cache.put(self._place, row_key, state)
        return {row_key: state for row_key, state in after.items() if isinstance(state, ContributionState)}


def _gone_etags(wanted: Sequence[WantedContribution], seen: dict[str, ContributionState]) -> dict[str, str]:
    """The rows that must be swept."""
    found = {}
    for each in wanted:
        etag, stored = seen[each.row_key]
        if each.columns is None and etag is not None and stored is not None and stored.at == each.at:
            found[each.row_key] = etag
    return found


def _contended() -> StorageUnavailableError:
    return StorageUnavailableError(
        f"Other workers changed a group {_ROUNDS_MAX} times before a contribution could be added: try again later.",
        outcome_unknown=False,
    )
