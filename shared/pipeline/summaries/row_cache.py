"""Rows of summaries that this worker has seen, with their ETags.

A cached row may be outdated: every write carries its ETag, or is an insert, and fails then. The row that was not used
for the longest time goes first.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from shared.entries.projection.generations import Place
    from shared.entries.summaries.rows import StoredContribution, StoredTotal

# A row takes about a kilobyte.
ROWS_MAX: Final = 50_000


class ContributionState(NamedTuple):
    """A contribution row as it was seen. Without an ETag there is none; with one and without content it is damaged."""

    etag: str | None = None
    stored: StoredContribution | None = None


class TotalState(NamedTuple):
    """A total row as it was seen, in the same way."""

    etag: str | None = None
    stored: StoredTotal | None = None


RowState: TypeAlias = ContributionState | TotalState


class RowCache:
    """States by place and RowKey."""

    def __init__(self, rows_max: int = ROWS_MAX) -> None:
        self._states: OrderedDict[tuple[Place, str], RowState] = OrderedDict()
        self._rows_max = rows_max

    def get(self, place: Place, row_key: str) -> RowState | None:
        """What was seen of a row last, or None."""
        state = self._states.get((place, row_key))
        if state is not None:
            self._states.move_to_end((place, row_key))
        return state

    def put(self, place: Place, row_key: str, state: RowState) -> None:
        """Remember a row."""
        self._states[place, row_key] = state
        self._states.move_to_end((place, row_key))
        if len(self._states) > self._rows_max:
            self._states.popitem(last=False)

    def forget(self, place: Place, row_key: str) -> None:
        """Forget a row."""
        self._states.pop((place, row_key), None)
