"""Shards: a hot partition is spread over several, and which one a fact is in follows from its key alone.

PartitionKey = [period] [shard] encoded partition parts
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.entries.keys.limits import PARTITION_UNITS, SHARD_UNITS, cut_to_fit
from shared.entries.keys.part_codec import PartCodec
from shared.entries.keys.periods import PERIOD_UNITS, UNDATED, Periods, period_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.definitions.model import Index


def _shard_prefix(shard: int) -> str:
    """What stands before the encoded partition: first, so that shards are far apart in key order."""
    return f"{shard:03d} "


class ShardLayout:
    """How many shards each partition of an index has, and the periods that come before them."""

    __slots__ = ("_default", "_hot", "is_sharded", "partition_units", "periods")

    def __init__(self, index: Index) -> None:
        self._default = index.shards
        self.periods = Periods.of(index)
        self.partition_units = PARTITION_UNITS if self.periods is None else PARTITION_UNITS - PERIOD_UNITS
        codec = PartCodec(index.partition[0])
        self._hot = {cut_to_fit(codec.encode(value), self.partition_units): count for value, count in index.hot}
        self.is_sharded = self._default > 1 or bool(self._hot)

    def count(self, partition: str) -> int:
        """The number of shards of an encoded partition."""
        return self._hot.get(partition, self._default)

    def partition_key(self, partition: str, fact_hash: int, expires_seconds: int | None = None) -> str:
        """The PartitionKey of a fact's entry in an encoded partition."""
        if self.is_sharded:
            partition = _shard_prefix(fact_hash % self.count(partition)) + partition
        return partition if self.periods is None else f"{self.periods.start(expires_seconds)} {partition}"

    def partition_keys(self, partition: str, starts: Sequence[str] = (UNDATED,)) -> tuple[str, ...]:
        """Every PartitionKey that entries of an encoded partition may have, in these periods if it has periods."""
        spread = [partition]
        if self.is_sharded:
            spread = [_shard_prefix(shard) + partition for shard in range(self.count(partition))]
        if self.periods is None:
            return tuple(spread)
        return tuple(f"{start} {sharded}" for start in starts for sharded in spread)

    def without_period(self, partition_key: str) -> str:
        """What comes after the period, if there are periods."""
        return partition_key if self.periods is None else partition_key[PERIOD_UNITS:]

    def split(self, partition_key: str) -> tuple[int, str]:
        """The shard and the encoded partition that a PartitionKey was made of; ValueError when it was not."""
        if self.periods is not None:
            period_of(partition_key)
            partition_key = self.without_period(partition_key)
        if not self.is_sharded:
            return 0, partition_key
        return int(partition_key[: SHARD_UNITS - 1]), partition_key[SHARD_UNITS:]
