"""Keys over their budget: cut, still distinct, still Table-safe, and never lost by a lookup's bounds."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from shared.definitions.model import Index, KeyPart
from shared.definitions.utf16 import utf16_length
from shared.definitions.values import sort_rank
from shared.entries.keys.bounds import Comparison
from shared.entries.keys.fact_key import MISSING, decode_fact_key, encode_fact_key, fact_key_in
from shared.entries.keys.index_keys import IndexKeys, row_key, split_row_key
from shared.entries.keys.limits import (
    FACT_UNITS,
    KEY_UNITS,
    PARTITION_UNITS,
    SHARD_UNITS,
    SORT_UNITS,
    cut_to_fit,
    is_cut,
)
from tests.property.entries.test_key_order import _FORBIDDEN, units
from tests.property.strategies import VALUES, integers, long_texts, orders, parts, parts_with_values, texts

_VERSION = "0" * 36 + "0123abcd"
any_texts = texts | long_texts
fact_key_values = st.none() | st.just(MISSING) | st.booleans() | integers | any_texts


def index(*sort: KeyPart) -> Index:
    return Index(name="i", source="s", partition=(KeyPart(path="p", name="p"),), sort=sort, shards=2)


@given(st.lists(any_texts, min_size=1, max_size=3), st.lists(fact_key_values, max_size=3), any_texts)
def test_every_key_of_every_entry_fits_the_service(sort: list[str], partition_key: list[Any], fact_id: str) -> None:
    """Sort parts, fact key and version never need more than 512 units, nor do shard and partition."""
    keys = IndexKeys(index(*(KeyPart(path=f"s{n}", name=f"s{n}") for n, _ in enumerate(sort))))
    row = row_key(keys.sort(sort) + encode_fact_key(partition_key, fact_id), _VERSION)
    (partition, _) = keys.shards.partition_keys(keys.partition(sort[:1]))
    for key in (row, partition):
        assert utf16_length(key) <= KEY_UNITS
        assert _FORBIDDEN.search(key) is None


@given(st.lists(any_texts, min_size=2, unique=True), st.sampled_from([FACT_UNITS, SORT_UNITS, PARTITION_UNITS]))
def test_cut_keys_stay_distinct(values: list[str], limit: int) -> None:
    """Injective also over the limit."""
    keys = IndexKeys(index(KeyPart(path="s", name="s")))
    assert len({cut_to_fit(keys.whole_sort([value]), limit) for value in values}) == len(values)


@given(
    st.tuples(st.lists(fact_key_values, max_size=2), any_texts),
    st.tuples(st.lists(fact_key_values, max_size=2), any_texts),
)
@example((["1"], "a"), ([1], "a"))
@example(([None], "a"), ([MISSING], "a"))
@example(([True], "a"), (["true"], "a"))
@example((["a"], "b"), ([], "b"))
def test_fact_keys_are_injective(left: tuple[list[Any], str], right: tuple[list[Any], str]) -> None:
    """Two facts never share a fact key: neither through types nor through separators in values."""
    same = [*map(repr, left[0]), left[1]] == [*map(repr, right[0]), right[1]]
    assert (encode_fact_key(*left) == encode_fact_key(*right)) == same


@given(st.lists(fact_key_values | st.floats(allow_nan=False, allow_infinity=False), max_size=3), any_texts)
@example([" ", "a !b", 'x "~'], ' "00 $')
@example([1.5, 1e300, -2.0, True], "a/b'c#d\u2028\uffed\uffff\x00")
def test_a_fact_key_tells_its_fact_unless_it_was_cut(partition_key: list[Any], fact_id: str) -> None:
    """Values come back with their types; a number may come back as its equal."""
    encoded = encode_fact_key(partition_key, fact_id)
    decoded = decode_fact_key(encoded)
    if is_cut(encoded):
        assert decoded is None
    else:
        assert decoded is not None
        assert decoded == (tuple(partition_key), fact_id)
        assert encode_fact_key(*decoded) == encoded


@given(
    parts_with_values(count=1),
    st.lists(fact_key_values, min_size=1, max_size=2),
    any_texts,
)
@example(((KeyPart(path="p", name="p"),), [("x" * 400,)]), ["a"], "b")
def test_a_pair_tells_its_fact_key_unless_that_was_cut(
    parts_and_values: tuple[tuple[KeyPart, ...], list[tuple[Any, ...]]], partition_key: list[Any], fact_id: str
) -> None:
    """Whatever the sort parts are, cut or not."""
    key, (values,) = parts_and_values
    fact_key = encode_fact_key(partition_key, fact_id)
    entry_key = IndexKeys(index(*key)).sort(values) + fact_key
    assert fact_key_in(entry_key, len(partition_key)) == (None if is_cut(fact_key) else fact_key)


def test_a_fact_key_is_the_same_for_both_spellings_of_a_number() -> None:
    """Cosmos DB has one number type: 1 and 1.0 are one partition."""
    assert encode_fact_key([1], "a") == encode_fact_key([1.0], "a")


shared_beginnings = st.builds(lambda n, tail: "x" * n + tail, st.integers(290, 345), texts)


@settings(max_examples=300)
@given(
    st.data(),
    orders,
    st.sampled_from(["gt", "ge", "lt", "le", "prefix"]),
    st.lists(texts | shared_beginnings, min_size=1, max_size=5),
)
def test_bounds_meet_exactly_the_entries_that_brute_force_finds(
    data: st.DataObject, order: Any, operator: Any, values: list[str]
) -> None:
    """After the filter by stored value nothing is missing and nothing is too much, cut or not."""
    keys = IndexKeys(index(KeyPart(path="a", name="a"), KeyPart(path="b", name="b", order=order, keeps_nulls=True)))
    rows = [(value, other) for value in ("k", "l") for other in [*values, None]]
    asked = data.draw(st.sampled_from(values) | texts)
    bounds = keys.bounds(["k"], [Comparison(operator, asked)])
    found = [
        row
        for row in rows
        if units(bounds.lower) <= units(keys.sort(row) + "fact") < units(bounds.upper)
        and (not bounds.is_widened or bounds.holds(keys.whole_sort(row)))
    ]
    assert found == [row for row in rows if row[0] == "k" and row[1] is not None and holds(operator, row[1], asked)]


def holds(operator: str, value: str, asked: str) -> bool:
    """Brute force, in the order of values."""
    if operator == "prefix":
        return value.startswith(asked)
    left, right = units(value), units(asked)
    return {"gt": left > right, "ge": left >= right, "lt": left < right, "le": left <= right}[operator]


@given(st.data(), parts, st.sampled_from(["gt", "ge", "lt", "le"]))
def test_ranges_of_every_type_hold_what_compares(data: st.DataObject, part: KeyPart, operator: Any) -> None:
    """Comparisons are on values, whatever the type and order of the part."""
    values = data.draw(st.lists(VALUES[part.type], min_size=2, max_size=6))
    asked, *others = values
    keys = IndexKeys(index(part))
    bounds = keys.bounds([], [Comparison(operator, asked)])
    for value in [*others, asked]:
        left, right = sort_rank(part.type, value), sort_rank(part.type, asked)
        wanted = {"gt": left > right, "ge": left >= right, "lt": left < right, "le": left <= right}[operator]
        found = units(bounds.lower) <= units(keys.sort([value]) + "fact") < units(bounds.upper)
        assert (found and bounds.holds(keys.whole_sort([value]))) == wanted


@given(st.none() | texts, st.lists(st.none() | texts, min_size=1))
def test_equality_meets_equal_values_and_nulls_only(asked: str | None, values: list[str | None]) -> None:
    """Null is looked up like a value and is none: `town=` is the empty string."""
    keys = IndexKeys(index(KeyPart(path="a", name="a", keeps_nulls=True), KeyPart(path="b", name="b")))
    bounds = keys.bounds([asked])
    found = [v for v in values if units(bounds.lower) <= units(keys.sort([v, "b"]) + "fact") < units(bounds.upper)]
    assert found == [value for value in values if value == asked]


@given(st.sampled_from("/#?'\\\x7f\u2028\uffff"), st.integers(0, 9), st.integers(120, 200))
def test_a_key_that_is_cut_inside_a_spelled_character_is_found(character: str, offset: int, count: int) -> None:
    """What spells it may be the highest unit there is: the widened bound lies above that, too."""
    keys = IndexKeys(Index("i", "s", (KeyPart("p", "p"),), (KeyPart("a", "a"), KeyPart("b", "b", type="integer"))))
    value = "x" * offset + character * count
    bounds = keys.bounds([value])
    stored = keys.sort([value, 0]).encode("utf-16-be")
    assert bounds.lower.encode("utf-16-be") <= stored < bounds.upper.encode("utf-16-be")


def test_contradicting_comparisons_give_an_empty_range() -> None:
    """Above 5 and below 3 there is nothing to read."""
    keys = IndexKeys(index(KeyPart(path="n", name="n", type="integer")))
    assert keys.bounds([], [Comparison("gt", 5), Comparison("lt", 3)]).is_empty
    assert not keys.bounds([], [Comparison("ge", 3), Comparison("le", 3)]).is_empty


def test_two_comparisons_bound_both_sides() -> None:
    """`lastName.ge=S&lastName.lt=T` reads from S up to T."""
    bounds = IndexKeys(index(KeyPart(path="s", name="s"))).bounds([], [Comparison("ge", "S"), Comparison("lt", "T")])
    assert (bounds.lower, bounds.upper, bounds.is_widened) == ("S !", "T !", False)


def test_a_row_key_gives_back_its_pair_and_version() -> None:
    """The entry key is the RowKey without its last 44 units."""
    assert split_row_key(row_key("Smith !c-1 !42 !", _VERSION)) == ("Smith !c-1 !42 !", _VERSION)


def test_the_shard_prefix_has_its_room() -> None:
    """A full partition and its shard fit together."""
    keys = IndexKeys(index())
    assert utf16_length(keys.shards.partition_keys("x" * PARTITION_UNITS)[-1]) == PARTITION_UNITS + SHARD_UNITS
