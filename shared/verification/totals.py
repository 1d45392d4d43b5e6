"""Compares the totals of a group with its contributions, and makes them right.

Totals, contributions, totals again: when the ETags are the same, all of it is of one moment. An absent total has no
ETag, so nothing counts that was not seen twice, a pause apart. A repair writes a total under the ETag that it had
before its contributions were read; where there is none, an empty one is inserted first.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from shared.entries.keys.strings import CEILING
from shared.entries.projection.generations import place_of
from shared.entries.summaries.rows import StoredTotal, group_key, is_total_key, split_total_key
from shared.errors import OperationFailedError
from shared.pipeline.concurrency import all_of
from shared.pipeline.summaries.judge import GroupLane, total_write
from shared.pipeline.summaries.recount import count_group
from shared.pipeline.summaries.row_cache import TotalState
from shared.pipeline.summaries.row_reader import total_state
from shared.tables.port import ROW_KEY, RowRange
from shared.verification.differences import Difference
from shared.verification.examine import FactIdentity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.entries.projection.generations import Generation, Place
    from shared.entries.summaries.extremes import Extremes
    from shared.entries.summaries.totals import SummaryLayout, Total
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.summaries.recount import CountedGroup
    from shared.tables.accounts import Accounts
    from shared.verification.confirm import GracePeriod
    from shared.verification.differences import DifferenceKind
    from shared.verification.examine import GroupAddress
    from shared.verification.report import DifferenceReport

_ATTEMPTS: Final = 10


class _CountedTotals(NamedTuple):
    """The totals of a group by lane, and the contributions that were read between two looks at them."""

    totals: dict[int, TotalState]
    counted: CountedGroup


class TotalsConfirmer:
    """Confirms that totals are wrong, and repairs them if that is asked for."""

    def __init__(
        self,
        generation: Generation,
        accounts: Accounts,
        grace_period: GracePeriod,
        run_all: RunAll,
        *,
        repairs: bool,
    ) -> None:
        self._generation = generation
        self._accounts = accounts
        self._grace_period = grace_period
        self._run_all = run_all
        self._repairs = repairs

    async def confirm_and_repair(self, groups: Sequence[GroupAddress], report: DifferenceReport) -> None:
        """Note which totals of these groups are wrong, twice with a pause between, and repair them."""
        suspected = [group for group, wrong in zip(groups, await self._look(groups), strict=True) if wrong]
        if not suspected:
            return
        await self._grace_period.sleep(self._grace_period.pause_seconds)
        for group, wrong in zip(suspected, await self._look(suspected), strict=True):
            for lane, kind in wrong.items():
                address = (group.partition, GroupLane(group.sort, lane).row_key)
                report.note(FactIdentity(""), Difference(kind, address), has_versions=False)
            if wrong and self._repairs:
                is_right = await self._repair(group)
                report.counts["repaired" if is_right else "unrepaired"] += 1

    async def _look(self, groups: Sequence[GroupAddress]) -> list[dict[int, DifferenceKind]]:
        """What is wrong with each group, by lane; nothing for one that changes all the time."""
        return await all_of(self._run_all, [partial(self._wrong, group) for group in groups])

    async def _wrong(self, group: GroupAddress) -> dict[int, DifferenceKind]:
        found = await self._examine(group)
        return {} if found is None else _differences(found, self._layout)

    @property
    def _layout(self) -> SummaryLayout:
        assert self._generation.layout is not None
        return self._generation.layout

    async def _examine(self, group: GroupAddress) -> _CountedTotals | None:
        place = place_of(self._generation, group.partition)
        before = await self._totals(place, group.sort)
        for _ in range(_ATTEMPTS):
            tables = self._accounts.tables(place.account)
            counted = await count_group(tables, place, group.sort, self._layout)
            after = await self._totals(place, group.sort)
            if _etags(before) == _etags(after):
                return _CountedTotals(after, counted)
            before = after
        return None

    async def _totals(self, place: Place, sort: str) -> dict[int, TotalState]:
        found: dict[int, TotalState] = {}
        continuation = None
        rows = RowRange(place.partition, group_key(sort), group_key(sort) + CEILING)
        while True:
            page = await self._accounts.tables(place.account).query(place.table, rows, continuation=continuation)
            for row in page.rows:
                row_key = cast(str, row.entity[ROW_KEY])
                if is_total_key(row_key) and split_total_key(row_key)[0] == sort:
                    found[split_total_key(row_key)[1]] = total_state(row, self._layout)
            continuation = page.continuation
            if continuation is None:
                return found

    async def _repair(self, group: GroupAddress) -> bool:
        """Whether all totals of the group are right in the end."""
        for _ in range(_ATTEMPTS):
            found = await self._examine(group)
            if found is None:
                continue
            wrong = _differences(found, self._layout)
            if not wrong:
                return True
            for lane in wrong:
                await self._write(group, lane, found)
        return False

    async def _write(self, group: GroupAddress, lane: int, found: _CountedTotals) -> None:
        """Write one total; one that has changed meanwhile is looked at again."""
        place, layout = place_of(self._generation, group.partition), self._layout
        before = found.totals.get(lane, TotalState())
        counted = found.counted.total(layout, lane, (), ())
        after = layout.empty if before.etag is None else counted
        key = found.counted.key or ("{}" if before.stored is None else before.stored.key)
        write = total_write(place.partition, GroupLane(group.sort, lane), before, after, key, layout)
        try:
            await self._accounts.tables(place.account).transact(place.table, [write.operation])
        except OperationFailedError:
            return


def _etags(totals: dict[int, TotalState]) -> dict[int, str | None]:
    return {lane: state.etag for lane, state in totals.items()}


def _differences(found: _CountedTotals, layout: SummaryLayout) -> dict[int, DifferenceKind]:
    """What is wrong, by lane."""
    lanes = found.totals.keys() | {
        stored.lane for stored in found.counted.contributions.values() if stored.contribution is not None
    }
    wrong: dict[int, DifferenceKind] = {}
    for lane in sorted(lanes):
        counted = found.counted.total(layout, lane, (), ())
        kind = _difference(found.totals.get(lane), counted)
        if kind is not None:
            wrong[lane] = kind
    return wrong


def _difference(state: TotalState | None, counted: Total) -> DifferenceKind | None:
    if state is None:
        return "missing" if counted.facts else None
    stored: StoredTotal | None = state.stored
    if stored is None:
        return "stale"
    if not counted.facts:
        return "ghost"  # also one of nothing: where a total was lost, the last fact to leave puts one
    return None if _is_sum(stored.total, counted) else "stale"


def _is_sum(total: Total, counted: Total) -> bool:
    if (total.facts, total.elements) != (counted.facts, counted.elements):
        return False
    for kept, wanted in zip(total.amounts, counted.amounts, strict=True):
        if (kept.sum, kept.present) != (wanted.sum, wanted.present):
            return False
        if not _are_first(kept.smallest, wanted.smallest) or not _are_first(kept.largest, wanted.largest):
            return False
    return True


def _are_first(kept: Extremes | None, wanted: Extremes | None) -> bool:
    """Whether kept extremes are the first of all; unknown ones are not wrong."""
    if kept is None or wanted is None or kept.is_unknown:
        return True
    is_complete = wanted.is_whole and len(kept.values) == len(wanted.values)
    return kept.values == wanted.values[: len(kept.values)] and (is_complete or not kept.is_whole)
