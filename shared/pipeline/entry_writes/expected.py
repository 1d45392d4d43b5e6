"""Which partitions facts of a batch may still write to: a group of rows goes out when nothing more can join it.

Ledger buckets are projected one after the other and claimed side by side. What a bucket may write is known when it is
projected, so nothing goes out early before all of them are. Partitions of one name in several tables are taken for one:
they go out together, at worst later than they could.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet


class Expected:
    """The partitions of one batch, and the buckets of which each waits for."""

    def __init__(self, buckets: int) -> None:
        self._unprojected = buckets
        self._buckets: Counter[str] = Counter()
        # Partitions of settled buckets, in order, as far as they did not go out.
        self._kept: dict[str, None] = {}

    def projected(self, partitions: AbstractSet[str]) -> None:
        """One more bucket is projected, and may write to these partitions."""
        self._unprojected -= 1
        self._buckets.update(partitions)

    def settled(self, partitions: AbstractSet[str]) -> Iterable[str]:
        """A bucket has added all that it writes to its partitions; return those that nothing can be added to."""
        self._buckets.subtract(partitions)
        self._kept |= dict.fromkeys(partitions)
        if self._unprojected:
            return ()
        # Only now: what was complete before may be expected again by a bucket that was projected since.
        complete = [partition for partition in self._kept if not self._buckets[partition]]
        for partition in complete:
            del self._kept[partition]
        return complete
