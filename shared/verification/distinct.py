"""How many different facts passed by: exact up to some thousand, within a few percent above.

The smallest hashes are kept. Hashes are spread evenly, so that how close together the kept ones lie says how many
there are (Bar-Yossef's k minimum values). A fact that passes twice is kept once.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

# The error above is one in the root of this number: 2 %.
KEPT_MAX: Final = 2048
_HASHES: Final = 1 << 64


class DistinctFacts:
    """Counts facts by their hashes of 64 bits."""

    __slots__ = ("_kept",)

    def __init__(self, kept: Iterable[int] = ()) -> None:
        self._kept = sorted(kept)

    def add(self, fact_hash: int) -> None:
        """A fact passes by, perhaps again."""
        place = bisect_left(self._kept, fact_hash)
        if place == KEPT_MAX or self._kept[place : place + 1] == [fact_hash]:
            return
        self._kept.insert(place, fact_hash)
        del self._kept[KEPT_MAX:]

    def count(self) -> int:
        """How many different ones there were."""
        if len(self._kept) < KEPT_MAX:
            return len(self._kept)
        return round((KEPT_MAX - 1) * _HASHES / self._kept[-1])

    def plain(self) -> list[int]:
        """To go on with later."""
        return list(self._kept)
