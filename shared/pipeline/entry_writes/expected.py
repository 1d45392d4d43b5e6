"""Which places facts of a batch may still write to: a group of rows goes out when nothing more can join it.

Ledger buckets are projected one after the other and claimed side by side. What a bucket may write is known when it is
projected, so nothing goes out early before all of them are. So the number of transactions does not depend on the order
of the answers.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from shared.entries.keys.periods import without_period

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.entries.projection.generations import Place


class Reach(NamedTuple):
    """What the facts of a bucket may write to: certain places, and any place of some generations, by table."""

    places: set[Place]
    tables: set[str]


class Expected:
    """The places of one batch, and how many buckets each waits for."""

    def __init__(self, buckets: int) -> None:
        self._unprojected = buckets
        self._buckets: Counter[Place] = Counter()
        self._buckets_of_tables: Counter[str] = Counter()
        # Places of settled buckets, in order, as far as they did not go out.
        self._kept: dict[Place, None] = {}

    def projected(self, reach: Reach) -> None:
        """One more bucket is projected, and may write there."""
        self._unprojected -= 1
        self._buckets.update(reach.places)
        self._buckets_of_tables.update(reach.tables)

    def settled(self, reach: Reach) -> Sequence[Place]:
        """A bucket has added all that it writes; return the places that nothing can be added to."""
        self._buckets.subtract(reach.places)
        self._buckets_of_tables.subtract(reach.tables)
        self._kept |= dict.fromkeys(reach.places)
        if self._unprojected:
            return ()
        # Only now: what was complete before may be expected again by a bucket that was projected since.
        complete = [place for place in self._kept if self._is_complete(place)]
        for place in complete:
            del self._kept[place]
        return complete

    def _is_complete(self, place: Place) -> bool:
        return not self._buckets[place] and not self._buckets_of_tables[without_period(place.table)]
