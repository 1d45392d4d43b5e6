"""Adds up the total rows of each group of a summary: those of all its shards and lanes, which come one after the other.

A group is complete when a row of another one follows, or nothing does. A fact never changes its shard or lane while it
counts, so rows that are read at different moments never count it twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from shared.entries.rows.columns import KEY, REST, Columns, put_text
from shared.entries.rows.json_text import NotJsonError, dumps
from shared.entries.summaries.rows import (
    LANE_UNITS,
    contributions_of,
    read_contribution,
    read_total,
    sort_of_group,
)
from shared.errors import TableMissingError
from shared.lookup.reading.merge import ROWS_MAX, MergedRow
from shared.lookup.reading.stretches import NewestRow
from shared.tables.port import PARTITION_KEY, ROW_KEY, RowRange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from shared.entries.summaries.rows import StoredTotal
    from shared.entries.summaries.totals import Contribution, SummaryLayout, Total
    from shared.lookup.asking.plan import Plan
    from shared.lookup.reading.merge import MergedRows
    from shared.lookup.reading.replicas import Replicas
    from shared.tables.port import Row


def total_rows(rows: Sequence[Row]) -> list[NewestRow]:
    """Every row counts: each is a lane of a group."""
    return [NewestRow(cast(str, row.entity[ROW_KEY]), row.entity) for row in rows]


class MergedGroups:
    """The groups that a plan asks for, in order, each as one row."""

    def __init__(
        self,
        rows: MergedRows,
        replicas_of: Callable[[str], Replicas],
        table: str,
        plan: Plan,
        layout: SummaryLayout,
        *,
        is_keys_only: bool = False,
    ) -> None:
        self.order = rows.order
        self._rows = rows
        self._replicas_of = replicas_of
        self._table = table
        self._plan = plan
        self._layout = layout
        self._is_keys_only = is_keys_only
        # Rows of the last group that was seen: more of them may follow.
        self._open: list[MergedRow] = []

    @property
    def rows_read(self) -> int:
        """Rows that were read so far."""
        return self._rows.rows_read

    @property
    def is_secondary(self) -> bool:
        """Whether some came from the secondary endpoint."""
        return self._rows.is_secondary

    @property
    def has_more(self) -> bool:
        """Whether there may be groups behind those that were given."""
        return bool(self._open) or self._rows.has_more

    async def next_rows(self) -> list[MergedRow]:
        """The next groups that are complete; none at the end, and none when no more may be read."""
        found: list[MergedRow] = []
        while not found and (rows := await self._rows.next_rows()):
            found = [await self._sum(together) for together in list(self._complete(rows))]
        if self._open and not self._rows.has_more:
            last, self._open = self._open, []
            found.append(await self._sum(last))
        return found

    def _complete(self, rows: Sequence[MergedRow]) -> Iterator[list[MergedRow]]:
        """The groups that another one follows."""
        for row in rows:
            if self._open and _group(self._open[0]) != _group(row):
                yield self._open
                self._open = []
            self._open.append(row)

    async def _sum(self, together: Sequence[MergedRow]) -> MergedRow:
        """One row for a group, as if it had one shard and one lane. Rows that cannot be read are passed over."""
        partition, group = _group(together[0])
        first = together[0].row.entity
        stored = [] if self._is_keys_only else list(self._stored(together))
        if not stored:
            return together[0]._replace(row=NewestRow(group, first))
        total = stored[0].total
        for each in stored[1:]:
            total = total.merged(each.total)
        if total.is_unknown:
            total = await self._with_extremes(partition, group, total)
        columns: Columns = {}
        put_text(columns, KEY, stored[0].key)
        put_text(columns, REST, dumps(self._layout.plain_total(total)))
        keys = {PARTITION_KEY: first[PARTITION_KEY], ROW_KEY: group}
        return together[0]._replace(row=NewestRow(group, {**keys, **columns}))

    def _stored(self, together: Sequence[MergedRow]) -> Iterator[StoredTotal]:
        for merged in together:
            try:
                yield read_total(merged.row.entity, self._layout)
            except NotJsonError:
                continue  # a verification finds it

    async def _with_extremes(self, partition: int, group: str, total: Total) -> Total:
        """A total whose writer could not keep up: what is extreme comes from the contributions themselves."""
        lower, upper = contributions_of(sort_of_group(group))
        found: list[Contribution] = []
        for number, account, partition_key in zip(
            self._plan.numbers, self._plan.accounts, self._plan.partition_keys, strict=True
        ):
            if number == partition:
                found += await self._contributions(account, RowRange(partition_key, lower, upper))
        counted = zip(total.amounts, self._layout.total_of(found).amounts, strict=True)
        amounts = [replace(kept, smallest=seen.smallest, largest=seen.largest) for kept, seen in counted]
        return replace(total, amounts=tuple(amounts))

    async def _contributions(self, account: str, rows: RowRange) -> list[Contribution]:
        found: list[Contribution] = []
        continuation = None
        while True:
            try:
                page, _ = await self._replicas_of(account).query(self._table, rows, ROWS_MAX, continuation)
            except TableMissingError:
                return found
            found += [each for row in page.rows if (each := self._contribution(row)) is not None]
            continuation = page.continuation
            if continuation is None:
                return found

    def _contribution(self, row: Row) -> Contribution | None:
        try:
            return read_contribution(row.entity, self._layout).contribution
        except NotJsonError:
            return None


def _group(merged: MergedRow) -> tuple[int, str]:
    return merged.partition, merged.row.entry_key[:-LANE_UNITS]
