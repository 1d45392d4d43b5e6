"""Placement: which storage account holds a partition, decided by its PartitionKey alone.

`by: list` and `by: range` look at the first partition part, so all shards of a value are in its account. `by: hash`
deals out whole partitions, and the shards of one partition in turn: a hot one has all accounts to itself.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from shared.definitions.utf16 import utf16_order
from shared.entries.keys.part_codec import PartCodec
from shared.entries.keys.shards import ShardLayout
from shared.entries.keys.strings import END

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shared.definitions.model import Index, KeyPart, Placement, RangeSlice

# The account of every index that has no placement, and of the ledger: the name of its connection.
DEFAULT_ACCOUNT: Final = "INDEX_STORAGE"


class AccountMap:
    """The accounts of one index, by the names of their connections, and the way from a PartitionKey to its own."""

    __slots__ = ("account_of", "accounts")

    def __init__(self, index: Index) -> None:
        placement = index.placement
        self.accounts: tuple[str, ...] = (DEFAULT_ACCOUNT,) if placement is None else placement.named
        self.account_of: Callable[[str], str] = _router(index, placement)


def _router(index: Index, placement: Placement | None) -> Callable[[str], str]:
    if placement is None:
        return lambda _: DEFAULT_ACCOUNT
    split = ShardLayout(index).split
    if placement.by == "hash":
        return _by_hash(placement.accounts, split)
    choose = (
        _by_list(index.partition[0], placement)
        if placement.by == "list"
        else _by_range(index.partition[0], placement.slices)
    )
    return lambda partition_key: choose(_first_part(split(partition_key)[1]))


def _by_hash(accounts: Sequence[str], split: Callable[[str], tuple[int, str]]) -> Callable[[str], str]:
    def choose(partition_key: str) -> str:
        shard, partition = split(partition_key)
        start = int.from_bytes(sha256(partition.encode()).digest()[:8], "big")
        return accounts[(start + shard) % len(accounts)]

    return choose


def _by_list(part: KeyPart, placement: Placement) -> Callable[[str], str]:
    encode = PartCodec(part).encode
    named = {encode(value): account for value, account in placement.values}
    assert placement.default is not None  # `check_layout` sees to it
    default = placement.default
    return lambda first: named.get(first, default)


def _by_range(part: KeyPart, slices: Sequence[RangeSlice]) -> Callable[[str], str]:
    """The slice whose values the first part is among; nulls are below all values, whatever the part's order."""
    codec = PartCodec(part)
    edges = [utf16_order(codec.encode(range_slice.start)) for range_slice in slices[1:]]
    accounts = [range_slice.account for range_slice in slices]
    if not codec.is_descending:
        return lambda first: accounts[bisect_right(edges, utf16_order(first))]
    # Encoded values stand in the opposite order: the seams below a value are those at or above its text.
    edges.reverse()
    return lambda first: accounts[len(edges) - bisect_left(edges, utf16_order(first))]


def _first_part(partition: str) -> str:
    """The first part of an encoded partition; what is cut has no end, and is longer than any value of a map."""
    end = partition.find(END)
    return partition if end < 0 else partition[: end + len(END)]
