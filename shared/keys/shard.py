"""Shards: a hot partition is spread over several, and which one a fact is in follows from its key alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shared.keys.limits import PARTITION_UNITS, SHARD_UNITS, within
from shared.keys.parts import PartCodec

if TYPE_CHECKING:
    from shared.definitions.model import Index

SHARDS_MAX: Final = 256


def shard_prefix(shard: int) -> str:
    """What stands before the encoded partition: first, so that shards are far apart in key order."""
    return f"{shard:03d} "


class ShardLayout:
    """How many shards each partition of an index has."""

    __slots__ = ("_default", "_hot", "is_sharded")

    def __init__(self, index: Index) -> None:
        self._default = index.shards
        codec = PartCodec(index.partition[0])
        self._hot = {within(codec.encode(value), PARTITION_UNITS): count for value, count in index.hot}
        self.is_sharded = self._default > 1 or bool(self._hot)

    def count(self, partition: str) -> int:
        """The number of shards of an encoded partition."""
        return self._hot.get(partition, self._default)

    def partition_key(self, partition: str, fact_hash: int) -> str:
        """The PartitionKey of a fact's entry in an encoded partition."""
        if not self.is_sharded:
            return partition
        return shard_prefix(fact_hash % self.count(partition)) + partition

    def partition_keys(self, partition: str) -> tuple[str, ...]:
        """Every PartitionKey that entries of an encoded partition may have."""
        if not self.is_sharded:
            return (partition,)
        return tuple(shard_prefix(shard) + partition for shard in range(self.count(partition)))

    def split(self, partition_key: str) -> tuple[int, str]:
        """The shard and the encoded partition that a PartitionKey was made of."""
        if not self.is_sharded:
            return 0, partition_key
        return int(partition_key[: SHARD_UNITS - 1]), partition_key[SHARD_UNITS:]
