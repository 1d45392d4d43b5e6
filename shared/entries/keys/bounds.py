"""Which RowKeys answer a lookup: from a lower bound up to but without an upper one.

Comparisons are on values, whatever the part's order. A bound that reaches into the part of a key that may
be cut is widened to what is surely kept; the reader then asks `Bounds.holds` about the stored values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from shared.definitions.utf16 import CHARACTER_UNITS_MAX, utf16_cut, utf16_length, utf16_order
from shared.entries.keys.limits import SORT_UNITS, kept_units
from shared.entries.keys.strings import CEILING, SUMMIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.definitions.model import PartValue
    from shared.entries.keys.part_codec import PartCodec

Operator: TypeAlias = Literal["gt", "ge", "lt", "le", "prefix"]
_ABOVE: tuple[Operator, ...] = ("gt", "ge")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One side of a range on a part's values. A prefix is both sides."""

    operator: Operator
    value: PartValue


@dataclass(frozen=True, slots=True)
class Bounds:
    """A range of RowKeys, and the range of whole encoded sort parts that it stands for."""

    lower: str
    upper: str
    exact_lower: str
    exact_upper: str
    # What all of them begin with, before the sort parts: the kind of row, in a summary.
    prefix: str = ""
    # The range may hold keys that were not asked for: filter by stored values.
    is_widened: bool = field(init=False, compare=False)
    # Nothing can lie in the range, such as above 5 and below 3.
    is_empty: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        is_widened = self.lower != self.exact_lower or self.upper != self.exact_upper
        object.__setattr__(self, "is_widened", is_widened)
        object.__setattr__(self, "is_empty", utf16_order(self.exact_lower) >= utf16_order(self.exact_upper))

    def holds(self, encoded_sort: str) -> bool:
        """Whether the whole encoded sort parts of an entry, made from its stored values, were asked for."""
        return utf16_order(self.exact_lower) <= utf16_order(self.prefix + encoded_sort) < utf16_order(self.exact_upper)

    def among(self, prefix: str) -> Bounds:
        """The same range among RowKeys that begin with a prefix."""
        lower, upper = prefix + self.lower, prefix + self.upper
        return Bounds(lower, upper, prefix + self.exact_lower, prefix + self.exact_upper, prefix)


def sort_bounds(
    codecs: Sequence[PartCodec], equal: Sequence[PartValue | None], comparisons: Sequence[Comparison] = ()
) -> Bounds:
    """The bounds of entries whose leading sort parts equal these values and whose next part is in a range."""
    lead = "".join(codec.encode(value) for codec, value in zip(codecs, equal, strict=False))
    if not comparisons:
        return _within_budget(lead, lead + CEILING)
    codec = codecs[len(equal)]
    ranges = [(codec.floor, codec.ceiling), *(_range(codec, comparison) for comparison in comparisons)]
    lower = max((low for low, _ in ranges), key=utf16_order)
    upper = min((high for _, high in ranges), key=utf16_order)
    return _within_budget(lead + lower, lead + upper)


def _range(codec: PartCodec, comparison: Comparison) -> tuple[str, str]:
    """From where to where the encoded values lie for which the comparison holds."""
    if comparison.operator == "prefix":
        return codec.prefix_range(cast(str, comparison.value))
    encoded = codec.encode(comparison.value)
    is_above = (comparison.operator in _ABOVE) != codec.is_descending
    takes_equal = comparison.operator in ("ge", "le")
    if is_above:
        return (encoded if takes_equal else encoded + CEILING), codec.ceiling
    return codec.floor, (encoded + CEILING if takes_equal else encoded)


def _within_budget(lower: str, upper: str) -> Bounds:
    kept = kept_units(SORT_UNITS)
    if max(len(lower), len(upper)) * CHARACTER_UNITS_MAX <= kept:
        return Bounds(lower, upper, lower, upper)
    wide_lower = lower if utf16_length(lower) <= kept else utf16_cut(lower, kept)
    wide_upper = upper if utf16_length(upper) <= kept else utf16_cut(upper, kept) + SUMMIT
    return Bounds(wide_lower, wide_upper, lower, upper)
