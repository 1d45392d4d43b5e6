"""The sketch of a difference: which facts have entries in one place and not in the other, in half a megabyte.

Every entry is added on one side and subtracted on the other, as a 64-bit hash in two slots that its fact decides. A
slot that is zero at the end has seen the same entries on both sides. A fact differs only if both of its slots do, so
that few differences among millions of facts point at few facts. What has changed between two scans looks different,
too: facts that differ must be examined.
"""

from __future__ import annotations

from array import array
from hashlib import blake2b
from typing import Final

_BITS: Final = 15
SLOTS: Final = 1 << _BITS
_SLOT: Final = SLOTS - 1
_WORD: Final = (1 << 64) - 1
_ZERO_SLOTS: Final = bytes(8 * 2 * SLOTS)


class Sketch:
    """Sums that are zero where both sides are equal."""

    __slots__ = ("_sums",)

    def __init__(self, state: bytes = _ZERO_SLOTS) -> None:
        self._sums = array("Q", state)

    def add(self, fact_hash: int, entry: int) -> None:
        """The entry is on one side."""
        self._put(fact_hash, entry)

    def subtract(self, fact_hash: int, entry: int) -> None:
        """The entry is on the other side."""
        self._put(fact_hash, -entry)

    def _put(self, fact_hash: int, amount: int) -> None:
        sums, first, second = self._sums, fact_hash & _SLOT, SLOTS + (fact_hash >> _BITS & _SLOT)
        sums[first] = sums[first] + amount & _WORD
        sums[second] = sums[second] + amount & _WORD

    def differs(self, fact_hash: int) -> bool:
        """Whether this fact may have other entries on one side than on the other."""
        return bool(self._sums[fact_hash & _SLOT] and self._sums[SLOTS + (fact_hash >> _BITS & _SLOT)])

    def is_zero(self) -> bool:
        """Whether both sides are equal."""
        return not any(self._sums)

    def state(self) -> bytes:
        """The sums, to go on with later."""
        return self._sums.tobytes()


def entry_hash(*texts: str) -> int:
    """An entry as a number: equal for equal texts, and for no others."""
    return int.from_bytes(blake2b("\0".join(texts).encode(), digest_size=8).digest(), "big")
