"""Lanes: several total rows of one group in its partition, so that workers who meet on a hot group part.

A contribution says in which lane it is counted and stays there until its row is swept; readers add the lanes up. A
worker begins in the first lane of every group. Whenever it loses on a total, its next new contributions to that group
go to the next lane; the winner stays.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from shared.entries.summaries.rows import LANES, split_total_key

if TYPE_CHECKING:
    from shared.entries.projection.generations import Place

_GROUPS_MAX: Final = 10_000


class Lanes:
    """The lane of this worker in each group; zero where it never met another worker."""

    def __init__(self) -> None:
        self._lanes: OrderedDict[tuple[Place, str], int] = OrderedDict()

    def lane_of(self, place: Place, sort: str) -> int:
        """The lane for new contributions to a group."""
        return self._lanes.get((place, sort), 0)

    def lose(self, place: Place, row_key: str) -> None:
        """Another worker was faster with this total."""
        sort, lane = split_total_key(row_key)
        if self.lane_of(place, sort) == lane:
            self._lanes[place, sort] = (lane + 1) % LANES
            if len(self._lanes) > _GROUPS_MAX:
                self._lanes.popitem(last=False)
