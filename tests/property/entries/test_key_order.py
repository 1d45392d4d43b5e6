"""The key codec: encoded order is value order, for every type, both orders and tuples; keys are safe."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import fdb.tuple
from hypothesis import example, given
from hypothesis import strategies as st

from shared.definitions.model import KeyPart
from shared.definitions.values import folded, sort_rank
from shared.entries.keys.part_codec import PartCodec
from tests.property.strategies import VALUES, bmp_texts, doubles, integers, parts, parts_with_values, texts

if TYPE_CHECKING:
    from shared.definitions.model import PartValue

_FORBIDDEN = re.compile("[/\\\\#?\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def units(text: str) -> bytes:
    """What the Table service compares."""
    return text.encode("utf-16-be")


def encode(key: tuple[KeyPart, ...], values: tuple[PartValue | None, ...]) -> str:
    return "".join(PartCodec(part).encode(value) for part, value in zip(key, values, strict=True))


def sign(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def compare(part: KeyPart, left: PartValue | None, right: PartValue | None) -> int:
    """The order that the definition asks for, written down without the codec: nulls first, last in desc."""
    if left is None or right is None:
        result = (left is not None) - (right is not None)
    else:
        result = sign(sort_rank(part.type, left), sort_rank(part.type, right))
    return -result if part.order == "desc" else result


@given(parts_with_values())
def test_encoded_tuples_stand_in_the_order_of_their_values(
    drawn: tuple[tuple[KeyPart, ...], list[tuple[PartValue | None, ...]]],
) -> None:
    """Part by part, reversed for desc, equal exactly when the values are equal."""
    key, (left, right) = drawn
    wanted = next((c for part, a, b in zip(key, left, right, strict=True) if (c := compare(part, a, b)) != 0), 0)
    assert sign(units(encode(key, left)), units(encode(key, right))) == wanted


@given(parts_with_values())
def test_no_encoded_tuple_begins_another(
    drawn: tuple[tuple[KeyPart, ...], list[tuple[PartValue | None, ...]]],
) -> None:
    """So whatever follows a tuple (the fact key) can never change how two tuples compare."""
    key, (left, right) = drawn
    if left != right:
        assert not encode(key, left).startswith(encode(key, right))


@given(parts_with_values(count=1))
def test_encoded_keys_are_table_safe(
    drawn: tuple[tuple[KeyPart, ...], list[tuple[PartValue | None, ...]]],
) -> None:
    """No forbidden character is left, whatever the values were."""
    key, (values,) = drawn
    assert _FORBIDDEN.search(encode(key, values)) is None


@given(st.data())
def test_an_encoded_value_lies_between_its_parts_floor_and_ceiling(data: st.DataObject) -> None:
    """And null does not: ranges on values never meet nulls."""
    part = data.draw(parts)
    codec = PartCodec(part)
    encoded = codec.encode(data.draw(VALUES[part.type]))
    assert units(codec.floor) <= units(encoded) < units(codec.ceiling)
    assert not units(codec.floor) <= units(codec.null) < units(codec.ceiling)


@given(st.lists(integers, min_size=2, max_size=6))
@example([-(2**63), 2**63, 0, -1, 1])
def test_integers_agree_with_the_foundationdb_tuple_layer(values: list[int]) -> None:
    """An independent codec with the same promise puts the same integers in the same order."""
    codec = PartCodec(KeyPart(path="n", name="n", type="integer"))
    ours = sorted(values, key=lambda value: units(codec.encode(value)))
    assert ours == sorted(values, key=lambda value: fdb.tuple.pack((value,)))


@given(st.lists(doubles, min_size=2, max_size=6))
def test_doubles_agree_with_the_foundationdb_tuple_layer(values: list[float]) -> None:
    """Including subnormals and the extremes; there is only one zero here."""
    codec = PartCodec(KeyPart(path="n", name="n", type="number"))
    ours = sorted(values, key=lambda value: units(codec.encode(value)))
    assert ours == sorted(values, key=lambda value: fdb.tuple.pack((value,)))


@given(st.lists(st.tuples(texts.filter(lambda t: max(t, default="") <= "\uffff") | bmp_texts, integers), min_size=2))
def test_tuples_agree_with_the_foundationdb_tuple_layer(values: list[tuple[str, int]]) -> None:
    """Strings without supplementary characters: there, and only there, the two orders are meant to differ."""
    key = (KeyPart(path="s", name="s"), KeyPart(path="n", name="n", type="integer"))
    ours = sorted(values, key=lambda pair: units(encode(key, pair)))
    assert ours == sorted(values, key=fdb.tuple.pack)


@given(texts, texts)
def test_folded_parts_are_equal_when_the_folded_texts_are(left: str, right: str) -> None:
    """`fold: case` compares folded texts and nothing else."""
    codec = PartCodec(KeyPart(path="s", name="s", fold=True))
    assert (codec.encode(left) == codec.encode(right)) == (folded(left) == folded(right))


@given(st.lists(texts, min_size=2), st.sampled_from(["asc", "desc"]))
def test_every_string_with_a_prefix_lies_in_its_range_and_no_other(values: list[str], order: Any) -> None:
    """For every pair of texts, one is in the other's prefix range exactly when it begins with it."""
    codec = PartCodec(KeyPart(path="s", name="s", order=order))
    for prefix, value in [*pairwise(values), (values[0][:1], values[0])]:
        lower, upper = codec.prefix_range(prefix)
        assert (units(lower) <= units(codec.encode(value)) < units(upper)) == value.startswith(prefix)


def test_ordinary_values_stay_readable() -> None:
    """People look at keys in Storage Explorer."""
    key = (
        KeyPart(path="s", name="s"),
        KeyPart(path="i", name="i", type="integer"),
        KeyPart(path="x", name="x", type="number"),
        KeyPart(path="b", name="b", type="boolean"),
        KeyPart(path="t", name="t", type="datetime"),
    )
    values = ("New York", 1999, 19.5, True, "2024-05-01T12:00:00Z")
    assert encode(key, values) == "New York !d1999 !b19.5 !true !2024-05-01T12:00:00 !"


def test_a_sorted_list_shows_the_whole_number_line() -> None:
    """The cases that broke others, in one row."""
    codec = PartCodec(KeyPart(path="n", name="n", type="number"))
    line = [
        -1.7e308,
        -1e26,
        -2.0,
        -1.5,
        -1.0,
        -1e-7,
        -5e-324,
        0.0,
        5e-324,
        2.2e-308,
        1e-7,
        1e-6,
        0.5,
        1.0,
        1e26,
        1.7e308,
    ]
    encoded = [units(codec.encode(value)) for value in line]
    assert encoded == sorted(set(encoded))
