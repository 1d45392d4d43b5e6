"""The keys of one index: PartitionKey and RowKey of its entries, made from coerced values.

PartitionKey = [period] [shard] encoded partition parts
RowKey       = encoded sort parts, fact key, inverted version; without the version it is the entry key
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from shared.entries.keys.bounds import Bounds, Comparison, sort_bounds
from shared.entries.keys.limits import SORT_UNITS, VERSION_UNITS, cut_to_fit, first_cut
from shared.entries.keys.part_codec import PartCodec
from shared.entries.keys.placement import AccountMap
from shared.entries.keys.shards import ShardLayout
from shared.entries.keys.strings import END
from shared.entries.keys.versions import inverted

# What the RowKeys of totals begin with: see `shared.entries.summaries.rows`.
TOTALS: Final = "0"

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.definitions.model import Index, PartValue


class LocatedPartitions(NamedTuple):
    """PartitionKeys, each with the number of its partition and with its account; `is_cut` when any was cut."""

    numbers: tuple[int, ...]
    partition_keys: tuple[str, ...]
    accounts: tuple[str, ...]
    is_cut: bool


class IndexKeys:
    """Encodes the keys of one index."""

    __slots__ = ("_prefix", "accounts", "partition_codecs", "shards", "sort_codecs")

    def __init__(self, index: Index) -> None:
        self.partition_codecs = tuple(PartCodec(part) for part in index.partition)
        self.sort_codecs = tuple(PartCodec(part) for part in index.sort)
        self.shards = ShardLayout(index)
        self.accounts = AccountMap(index)
        # A lookup in a summary reads totals, and no contributions.
        self._prefix = TOTALS if index.is_summary else ""

    def partition(self, values: Sequence[PartValue | None]) -> str:
        """The encoded partition parts, within their budget; the shard comes before them."""
        return cut_to_fit(self.whole_partition(values), self.shards.partition_units)

    def sort(self, values: Sequence[PartValue | None]) -> str:
        """The encoded sort parts, within their budget; the fact key comes after them."""
        return cut_to_fit(self.whole_sort(values), SORT_UNITS)

    def whole_partition(self, values: Sequence[PartValue | None]) -> str:
        """The encoded partition parts, however long: what to compare when a key may have been cut."""
        return "".join([codec.encode(value) for codec, value in zip(self.partition_codecs, values, strict=True)])

    def whole_sort(self, values: Sequence[PartValue | None]) -> str:
        """The encoded sort parts, however long: what `Bounds.holds` takes."""
        return "".join([codec.encode(value) for codec, value in zip(self.sort_codecs, values, strict=True)])

    def located(self, partitions: Sequence[str], starts: Sequence[str]) -> LocatedPartitions:
        """Where entries of these whole partitions may be: PartitionKeys of these periods, with their accounts."""
        encoded = [cut_to_fit(whole, self.shards.partition_units) for whole in partitions]
        keys = [
            (number, key)
            for number, partition in enumerate(encoded)
            for key in self.shards.partition_keys(partition, starts)
        ]
        return LocatedPartitions(
            tuple([number for number, _ in keys]),
            tuple([key for _, key in keys]),
            tuple([self.accounts.account_of(key) for _, key in keys]),
            is_cut=encoded != [*partitions],
        )

    def bounds(self, equal: Sequence[PartValue | None], comparisons: Sequence[Comparison] = ()) -> Bounds:
        """Which RowKeys to read for equality on leading sort parts and a range on the next."""
        return sort_bounds(self.sort_codecs, equal, comparisons).among(self._prefix)


def row_key(entry_key: str, version: str) -> str:
    """The RowKey of an entry at this version; newer rows of the same entry key come first."""
    return entry_key + inverted(version)


def split_entry_key(entry_key: str, sort_parts: int) -> tuple[str, str]:
    """The encoded sort parts and the fact key that an entry key was made of."""
    cut = first_cut(entry_key)
    end = 0
    for _ in range(sort_parts):
        found = entry_key.find(END, end)
        if cut is not None and not 0 <= found < cut.start:
            # Sort parts that were cut have lost their last end; behind whole ones it is the fact key that was cut.
            end = cut.stop
            break
        end = found + len(END)
    return entry_key[:end], entry_key[end:]


def split_row_key(row: str) -> tuple[str, str]:
    """The entry key and the version that a RowKey was made of."""
    return row[:-VERSION_UNITS], inverted(row[-VERSION_UNITS:])
