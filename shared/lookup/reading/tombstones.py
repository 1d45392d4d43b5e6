"""Which tombstones say nothing new: of an index with tables per period, an entry may move from one table to another.

A writer puts the row into the new table first, and the tombstone into the old one after it. A lookup reads the tables
at once: it may read the new table too early, and the old one too late. But a read that begins after a lookup has seen
the tombstone finds the row. So a tombstone that was not seen before a read began makes the lookup read again.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.lookup.reading.page import HiddenRow

# Tombstones are swept after an hour. One that is forgotten earlier costs one more read.
_REMEMBERED_MAX: Final = 20_000


class SeenTombstones:
    """The tombstones that lookups of this process have seen lately, each with the moment when."""

    def __init__(self, remembered_max: int = _REMEMBERED_MAX) -> None:
        self._seen_at: OrderedDict[HiddenRow, int] = OrderedDict()
        self._remembered_max = remembered_max
        self._moment = 0

    def moment(self) -> int:
        """Now: what is seen from here on is seen later."""
        return self._moment

    def unknown_at(self, moment: int, hidden: Iterable[HiddenRow]) -> list[HiddenRow]:
        """Those that had not been seen at a moment; all are remembered."""
        self._moment += 1
        unknown = [row for row in hidden if self._seen_at.setdefault(row, self._moment) > moment]
        while len(self._seen_at) > self._remembered_max:
            self._seen_at.popitem(last=False)
        return unknown
