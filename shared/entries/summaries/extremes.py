"""The smallest or largest values of a group, with how many facts have each.

A total keeps up to sixteen of them, so that a value that leaves can be taken out without a look at the other facts.
Only when the list runs empty while the group has more values is it unknown: then the contributions are read again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

KEPT: Final = 16


@dataclass(frozen=True, slots=True)
class Extremes:
    """Values from the most extreme on, each with a count. `is_whole`: the group has no others.

    `sign` is 1 when the smallest come first, -1 when the largest do.
    """

    sign: int
    values: tuple[tuple[Decimal, int], ...] = ()
    is_whole: bool = True

    @property
    def is_unknown(self) -> bool:
        """Whether the group has values, and which are extreme is not known."""
        return not self.values and not self.is_whole

    @property
    def first(self) -> Decimal | None:
        """The most extreme value; None when there is none."""
        return self.values[0][0] if self.values else None

    def plus(self, value: Decimal) -> Extremes:
        """With one more."""
        if self.is_unknown or (not self.is_whole and self._is_beyond(value)):
            return self
        counts = dict(self.values)
        counts[value] = counts.get(value, 0) + 1
        return self._of(counts, is_whole=self.is_whole)

    def minus(self, value: Decimal) -> Extremes:
        """With one fewer. One that is not in the list is among those that it leaves out."""
        counts = dict(self.values)
        if value not in counts:
            return self if not self.is_whole else self.unknown()
        counts[value] -= 1
        if not counts[value]:
            del counts[value]
        return self._of(counts, is_whole=self.is_whole)

    def merged(self, other: Extremes) -> Extremes:
        """Those of two totals together."""
        if self.is_unknown or other.is_unknown:
            return self.unknown()
        counts = Counter(dict(self.values))
        counts.update(dict(other.values))
        # Behind the end of a list that leaves values out, counts are not known.
        ends = [self._rank(side.values[-1][0]) for side in (self, other) if not side.is_whole]
        known = {value: count for value, count in counts.items() if not ends or self._rank(value) <= min(ends)}
        return self._of(known, is_whole=not ends)

    def merged_with(self, counts: dict[Decimal, int]) -> Extremes:
        """The extremes of a group without values that gains all of these."""
        return self._of(counts, is_whole=True)

    def unknown(self) -> Extremes:
        """The same group, with nothing known about its values."""
        return Extremes(self.sign, (), is_whole=False)

    @classmethod
    def of(cls, sign: int, values: Iterable[Decimal]) -> Extremes:
        """Those of all values of a group."""
        return Extremes(sign).merged_with(Counter(values))

    def plain(self) -> list[Any]:
        """As JSON."""
        return [[[str(value), count] for value, count in self.values], self.is_whole]

    def _is_beyond(self, value: Decimal) -> bool:
        return self._rank(value) > self._rank(self.values[-1][0])

    def _rank(self, value: Decimal) -> Decimal:
        """What orders the values. Decimal multiplication would round."""
        return value if self.sign > 0 else value.copy_negate()

    def _of(self, counts: dict[Decimal, int], *, is_whole: bool) -> Extremes:
        ordered = sorted(counts.items(), key=lambda counted: self._rank(counted[0]))
        return Extremes(self.sign, tuple(ordered[:KEPT]), is_whole and len(ordered) <= KEPT)
