"""Counts the contributions of a group again: when a total ran out of extreme values, or was damaged.

The ETag of the total is known *before* its contributions are read, and is the condition of what follows: every change
of a contribution changes its total, so none came in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from shared.entries.rows.columns import KEY, take_text
from shared.entries.rows.json_text import NotJsonError
from shared.entries.summaries.rows import contributions_of, read_contribution
from shared.tables.port import ROW_KEY, RowRange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.entries.projection.generations import Place
    from shared.entries.summaries.rows import StoredContribution
    from shared.entries.summaries.totals import Contribution, SummaryLayout, Total
    from shared.tables.port import Tables


class CountedGroup(NamedTuple):
    """The contributions of a group by RowKey, and the values of its key parts as JSON text; None without any."""

    contributions: dict[str, StoredContribution]
    key: str | None

    def total(self, layout: SummaryLayout, lane: int, without: Iterable[str], gains: Iterable[Contribution]) -> Total:
        """The total of a lane, with some rows left out and others added."""
        left_out = set(without)
        counted = [
            stored.contribution
            for row_key, stored in self.contributions.items()
            if stored.lane == lane and stored.contribution is not None and row_key not in left_out
        ]
        return layout.total_of([*counted, *gains])


async def count_group(tables: Tables, place: Place, sort: str, layout: SummaryLayout) -> CountedGroup:
    """Read all contributions of a group. Rows that hold none are passed over: a verification finds them."""
    lower, upper = contributions_of(sort)
    found: dict[str, StoredContribution] = {}
    key = None
    continuation = None
    while True:
        page = await tables.query(place.table, RowRange(place.partition, lower, upper), continuation=continuation)
        for row in page.rows:
            try:
                stored = read_contribution(row.entity, layout)
            except NotJsonError:
                continue
            found[cast(str, row.entity[ROW_KEY])] = stored
            key = key or take_text(stored.columns, KEY)
        continuation = page.continuation
        if continuation is None:
            return CountedGroup(found, key)
