"""Reads rows of one partition of a summary, through the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from shared.entries.rows.json_text import NotJsonError
from shared.entries.summaries.rows import read_contribution, read_total
from shared.pipeline.summaries.row_cache import ContributionState, TotalState

if TYPE_CHECKING:
    from shared.entries.projection.generations import Place
    from shared.entries.summaries.totals import SummaryLayout
    from shared.pipeline.summaries.row_cache import RowCache, RowState
    from shared.tables.port import Row, Tables


class RowReader:
    """The rows of one partition as they were seen last. What is read goes into the cache."""

    def __init__(self, tables: Tables, place: Place, layout: SummaryLayout, cache: RowCache) -> None:
        self._tables = tables
        self._place = place
        self._layout = layout
        self._cache = cache

    def known_contribution(self, row_key: str) -> ContributionState | None:
        """A contribution from the cache; None when it is not there."""
        return cast("ContributionState | None", self._cache.get(self._place, row_key))

    async def contribution(self, row_key: str) -> ContributionState:
        """A contribution as it is now."""
        row = await self._tables.get(self._place.table, self._place.partition, row_key)
        return cast(ContributionState, self._keep(row_key, contribution_state(row, self._layout)))

    async def total(self, row_key: str) -> TotalState:
        """A total from the cache, else as it is now."""
        known = self._cache.get(self._place, row_key)
        if known is None:
            row = await self._tables.get(self._place.table, self._place.partition, row_key)
            known = self._keep(row_key, total_state(row, self._layout))
        return cast(TotalState, known)

    def _keep(self, row_key: str, state: RowState) -> RowState:
        self._cache.put(self._place, row_key, state)
        return state


def contribution_state(row: Row | None, layout: SummaryLayout) -> ContributionState:
    """What a row, or none, says about a contribution."""
    if row is None:
        return ContributionState()
    try:
        return ContributionState(row.etag, read_contribution(row.entity, layout))
    except NotJsonError:
        return ContributionState(row.etag)


def total_state(row: Row | None, layout: SummaryLayout) -> TotalState:
    """What a row, or none, says about a total."""
    if row is None:
        return TotalState()
    try:
        return TotalState(row.etag, read_total(row.entity, layout))
    except NotJsonError:
        return TotalState(row.etag)
