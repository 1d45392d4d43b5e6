"""What one fact contributes to a group, and the total of a group: a sum of contributions, at every instant.

Both have an amount for every measured path. `SummaryLayout` says which paths there are, and what is kept of each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from shared.entries.summaries import decimals
from shared.entries.summaries.decimals import ZERO
from shared.entries.summaries.extremes import Extremes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from decimal import Decimal

    from shared.definitions.model import Measure

_SMALLEST: Final = 1
_LARGEST: Final = -1


@dataclass(frozen=True, slots=True)
class Amount:
    """The values of one fact at one path: their sum, how many are there, and the outermost two."""

    sum: Decimal = ZERO
    present: int = 0
    smallest: Decimal | None = None
    largest: Decimal | None = None

    @classmethod
    def of(cls, values: Sequence[Decimal]) -> Amount:
        """The amount of these values."""
        if not values:
            return cls()
        total = ZERO
        for value in values:
            total = decimals.add(total, value)
        return cls(total, len(values), min(values), max(values))

    def plain(self) -> list[Any]:
        """As JSON."""
        return [str(self.sum), self.present, *(None if each is None else str(each) for each in self._outermost)]

    @property
    def _outermost(self) -> tuple[Decimal | None, Decimal | None]:
        return self.smallest, self.largest


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one fact adds to a group: its elements there, and an amount for each path."""

    elements: int
    amounts: tuple[Amount, ...]


@dataclass(frozen=True, slots=True)
class TotalAmount:
    """The values of all facts of a group at one path. Extremes are None where no measure shows them."""

    sum: Decimal = ZERO
    present: int = 0
    smallest: Extremes | None = None
    largest: Extremes | None = None

    @property
    def is_unknown(self) -> bool:
        """Whether extremes must be found by reading the contributions."""
        return any(extremes is not None and extremes.is_unknown for extremes in (self.smallest, self.largest))

    def plus(self, amount: Amount) -> TotalAmount:
        """With the amount of one more fact."""
        return TotalAmount(
            decimals.add(self.sum, amount.sum),
            self.present + amount.present,
            _with(self.smallest, amount.smallest),
            _with(self.largest, amount.largest),
        )

    def minus(self, amount: Amount) -> TotalAmount:
        """With the amount of one fact fewer. A path without values has no extremes, known or not."""
        present = self.present - amount.present
        return TotalAmount(
            decimals.subtract(self.sum, amount.sum),
            present,
            _without(self.smallest, amount.smallest, present),
            _without(self.largest, amount.largest, present),
        )

    def merged(self, other: TotalAmount) -> TotalAmount:
        """The amounts of two totals together."""
        return TotalAmount(
            decimals.add(self.sum, other.sum),
            self.present + other.present,
            _merged(self.smallest, other.smallest),
            _merged(self.largest, other.largest),
        )

    def plain(self) -> list[Any]:
        """As JSON."""
        extremes = (None if each is None else each.plain() for each in (self.smallest, self.largest))
        return [str(self.sum), self.present, *extremes]


@dataclass(frozen=True, slots=True)
class Total:
    """A group: its facts, their elements, and an amount for each path."""

    facts: int
    elements: int
    amounts: tuple[TotalAmount, ...]

    @property
    def is_unknown(self) -> bool:
        """Whether some extremes must be found by reading the contributions."""
        return any(amount.is_unknown for amount in self.amounts)

    @property
    def is_broken(self) -> bool:
        """Whether it cannot be a sum of contributions: the stored row was damaged."""
        return self.facts < 0 or self.elements < 0 or any(amount.present < 0 for amount in self.amounts)

    def plus(self, contribution: Contribution) -> Total:
        """With one more fact."""
        amounts = zip(self.amounts, contribution.amounts, strict=True)
        return Total(self.facts + 1, self.elements + contribution.elements, tuple([t.plus(a) for t, a in amounts]))

    def minus(self, contribution: Contribution) -> Total:
        """With one fact fewer."""
        amounts = zip(self.amounts, contribution.amounts, strict=True)
        return Total(self.facts - 1, self.elements - contribution.elements, tuple([t.minus(a) for t, a in amounts]))

    def merged(self, other: Total) -> Total:
        """Two totals of one group together: of shards, or of lanes."""
        amounts = zip(self.amounts, other.amounts, strict=True)
        return Total(
            self.facts + other.facts, self.elements + other.elements, tuple([one.merged(two) for one, two in amounts])
        )


class SummaryLayout:
    """What a summary keeps and shows, by its measures."""

    __slots__ = ("_at", "_measures", "empty", "paths")

    def __init__(self, measures: Sequence[Measure]) -> None:
        self._measures = tuple(measures)
        self.paths = tuple(dict.fromkeys(measure.path for measure in measures if measure.path is not None))
        self._at = {path: number for number, path in enumerate(self.paths)}
        wanted = {(measure.kind, measure.path) for measure in measures}
        self.empty = Total(
            0,
            0,
            tuple(
                TotalAmount(
                    smallest=Extremes(_SMALLEST) if ("min", path) in wanted else None,
                    largest=Extremes(_LARGEST) if ("max", path) in wanted else None,
                )
                for path in self.paths
            ),
        )

    def total_of(self, contributions: Iterable[Contribution]) -> Total:
        """The total of all contributions of a group."""
        found = list(contributions)
        total = self.empty
        for contribution in found:
            total = total.plus(contribution)
        amounts = []
        for number, amount in enumerate(total.amounts):
            of_facts = [contribution.amounts[number] for contribution in found]
            smallest = [each.smallest for each in of_facts if each.smallest is not None]
            largest = [each.largest for each in of_facts if each.largest is not None]
            amounts.append(
                replace(
                    amount,
                    smallest=None if amount.smallest is None else Extremes.of(_SMALLEST, smallest),
                    largest=None if amount.largest is None else Extremes.of(_LARGEST, largest),
                )
            )
        return replace(total, amounts=tuple(amounts))

    def shown(self, total: Total) -> dict[str, int | float | None]:
        """The measures of a group, as lookups show them."""
        return {measure.name: self._shown(measure, total) for measure in self._measures}

    def _shown(self, measure: Measure, total: Total) -> int | float | None:
        if measure.path is None:
            return total.facts if measure.kind == "facts" else total.elements
        amount = total.amounts[self._at[measure.path]]
        if measure.kind == "sum":
            return decimals.shown(amount.sum)
        if measure.kind == "average":
            return decimals.mean(amount.sum, amount.present)
        extremes = amount.smallest if measure.kind == "min" else amount.largest
        first = None if extremes is None else extremes.first
        return None if first is None else decimals.shown(first)

    def plain_contribution(self, contribution: Contribution) -> dict[str, Any]:
        """As JSON, by path."""
        amounts = zip(self.paths, contribution.amounts, strict=True)
        return {"elements": contribution.elements, "of": {path: amount.plain() for path, amount in amounts}}

    def contribution_of_plain(self, plain: dict[str, Any]) -> Contribution:
        """The contribution that `plain_contribution` gave."""
        return Contribution(plain["elements"], tuple([_amount(plain["of"][path]) for path in self.paths]))

    def plain_total(self, total: Total) -> dict[str, Any]:
        """As JSON, by path."""
        amounts = zip(self.paths, total.amounts, strict=True)
        of = {path: amount.plain() for path, amount in amounts}
        return {"facts": total.facts, "elements": total.elements, "of": of}

    def total_of_plain(self, plain: dict[str, Any]) -> Total:
        """The total that `plain_total` gave."""
        amounts = [_total_amount(plain["of"][path]) for path in self.paths]
        return Total(plain["facts"], plain["elements"], tuple(amounts))


def _with(extremes: Extremes | None, value: Decimal | None) -> Extremes | None:
    return extremes if extremes is None or value is None else extremes.plus(value)


def _without(extremes: Extremes | None, value: Decimal | None, present: int) -> Extremes | None:
    if extremes is None or value is None:
        return extremes
    return extremes.minus(value) if present else Extremes(extremes.sign)


def _merged(first: Extremes | None, second: Extremes | None) -> Extremes | None:
    return None if first is None or second is None else first.merged(second)


def _amount(plain: list[Any]) -> Amount:
    total, present, smallest, largest = plain
    outermost = [None if text is None else decimals.read(text) for text in (smallest, largest)]
    return Amount(decimals.read(total), present, *outermost)


def _total_amount(plain: list[Any]) -> TotalAmount:
    total, present, smallest, largest = plain
    return TotalAmount(decimals.read(total), present, _extremes(_SMALLEST, smallest), _extremes(_LARGEST, largest))


def _extremes(sign: int, plain: list[Any] | None) -> Extremes | None:
    if plain is None:
        return None
    values, is_whole = plain
    return Extremes(sign, tuple([(decimals.read(text), count) for text, count in values]), is_whole)
