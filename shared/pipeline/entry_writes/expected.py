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
        self._complete: list[str] = []

    def projected(self, partitions: AbstractSet[str]) -> None:
        """One more bucket is projected, and may write to these partitions."""
        self._unprojected -= 1
        self._buckets.update(partitions)

    def settled(self, partitions: AbstractSet[str]) -> Iterable[str]:
        """A bucket has added all that it writes to its partitions; return those that nothing can be added to."""
        for partition in partitions:
            self._buckets[partition] -= 1
            if not self._buckets[partition]:
                self._complete.append(partition)
        if self._unprojected:
            return ()
        complete, self._complete = self._complete, []
        return complete
