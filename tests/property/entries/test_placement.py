"""Every PartitionKey has one account, and it is the one that the map means by value, whatever the encoding does."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from shared.definitions.model import Index, KeyPart, Placement, RangeSlice
from shared.definitions.values import folded, sort_rank
from shared.entries.keys.index_keys import IndexKeys
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from tests.property.strategies import VALUES, long_texts, orders, part_types

if TYPE_CHECKING:
    from shared.definitions.model import PartType, PartValue


@st.composite
def parts(draw: st.DrawFn) -> KeyPart:
    """A first partition part of any type."""
    part_type = draw(part_types)
    fold = part_type == "string" and draw(st.booleans())
    return KeyPart("a", "a", part_type, draw(orders), fold=fold, keeps_nulls=True)


def values_of(part_type: PartType) -> st.SearchStrategy[Any]:
    """Values of a type, texts so long that keys are cut among them."""
    return VALUES[part_type] | long_texts if part_type == "string" else VALUES[part_type]


def comparable(part: KeyPart, value: PartValue) -> Any:
    """What Python orders as the values of the part stand."""
    return sort_rank(part.type, folded(value) if part.fold and isinstance(value, str) else value)


def short(value: PartValue) -> bool:
    """Whether a map may name the value."""
    return len(folded(str(value)).encode("utf-16-le")) <= 200


def keys_of(part: KeyPart, placement: Placement | None, shards: int, *, two_parts: bool) -> IndexKeys:
    """The keys of an index with that first part."""
    second = (KeyPart("b", "b"),) if two_parts else ()
    return IndexKeys(Index("i", "s", (part, *second), shards=shards, placement=placement))


def accounts_of(keys: IndexKeys, value: PartValue | None, *, two_parts: bool) -> list[str]:
    """The account of every shard of a partition."""
    partition = keys.partition([value, "x !y"] if two_parts else [value])
    return [keys.accounts.account_of(key) for key in keys.shards.partition_keys(partition)]


@given(st.data(), parts(), st.integers(1, 3), st.booleans())
def test_ranges_place_by_value(data: st.DataObject, part: KeyPart, shards: int, two_parts: bool) -> None:
    """A value is in the slice that holds it; nulls are in the lowest; all shards of a value are together."""
    values = values_of(part.type)
    edges = {comparable(part, edge): edge for edge in data.draw(st.lists(values.filter(short), max_size=4))}
    seams = [None, *(edges[place] for place in sorted(edges)), None]
    slices = tuple(RangeSlice(seams[n], seams[n + 1], f"A{n}") for n in range(len(seams) - 1))
    keys = keys_of(part, Placement("range", (), slices=slices), shards, two_parts=two_parts)
    value = data.draw(st.one_of(values, st.sampled_from([*edges.values(), None])))
    below = 0 if value is None else sum(place <= comparable(part, value) for place in edges)
    assert set(accounts_of(keys, value, two_parts=two_parts)) == {f"A{below}"}


@given(st.data(), parts(), st.integers(1, 3), st.booleans())
def test_lists_place_by_value(data: st.DataObject, part: KeyPart, shards: int, two_parts: bool) -> None:
    """A value that the map names is in its account, in every spelling that is equal; all others in the default."""
    values = values_of(part.type)
    named = {comparable(part, value): value for value in data.draw(st.lists(values.filter(short), max_size=4))}
    mapped = tuple((value, f"A{number}") for number, value in enumerate(named.values()))
    keys = keys_of(part, Placement("list", (), mapped, "REST"), shards, two_parts=two_parts)
    value = data.draw(st.one_of(values, st.sampled_from([*named.values(), None])))
    wanted = "REST"
    if value is not None and comparable(part, value) in named:
        wanted = f"A{list(named).index(comparable(part, value))}"
    assert set(accounts_of(keys, value, two_parts=two_parts)) == {wanted}


@given(st.data(), parts(), st.integers(1, 12), st.integers(1, 5))
def test_hashes_deal_out_the_shards_of_a_partition(
    data: st.DataObject, part: KeyPart, shards: int, accounts: int
) -> None:
    """As evenly as can be, so that a hot partition has all accounts to itself."""
    names = tuple(f"A{number}" for number in range(accounts))
    keys = keys_of(part, Placement("hash", names), shards, two_parts=False)
    dealt = Counter(accounts_of(keys, data.draw(values_of(part.type)), two_parts=False))
    assert set(dealt) <= set(names)
    assert max(dealt.values()) - min([dealt[name] for name in names]) <= 1


def test_hashes_spread_partitions() -> None:
    """Each of four accounts gets about a quarter of a thousand partitions."""
    names = ("A", "B", "C", "D")
    keys = keys_of(KeyPart("a", "a"), Placement("hash", names), 1, two_parts=False)
    spread = Counter(accounts_of(keys, f"town {number}", two_parts=False)[0] for number in range(1000))
    assert all(200 < spread[name] < 300 for name in names)


def test_an_index_without_placement_is_in_the_default_account() -> None:
    """Whatever the key."""
    keys = keys_of(KeyPart("a", "a"), None, 1, two_parts=False)
    assert accounts_of(keys, "x", two_parts=False) == [DEFAULT_ACCOUNT]
