"""Which partitions facts of a batch may still write to: a group of rows goes out when nothing more can join it.

Ledger buckets are projected one after the other and claimed side by side. What a bucket may write is known when it is
projected, so nothing goes out early before all of them are.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from shared.entries.projection.generations import Place


class Expected:
    """The partitions of one batch, and the buckets of which each waits for."""

    def __init__(self, buckets: int) -> None:
        self._unprojected = buckets
        self._buckets: Counter[Place] = Counter()
        self._complete: list[Place] = []

    def projected(self, places: AbstractSet[Place]) -> None:
        """One more bucket is projected, and may write to these partitions."""
        self._unprojected -= 1
        self._buckets.update(places)

    def settled(self, places: AbstractSet[Place]) -> Iterable[Place]:
        """A bucket has added all that it writes to its partitions; return those that nothing can be added to."""
        for place in places:
            self._buckets[place] -= 1
            if not self._buckets[place]:
                self._complete.append(place)
        if self._unprojected:
            return ()
        complete, self._complete = self._complete, []
        return complete
