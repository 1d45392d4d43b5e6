"""What hypothesis makes up: texts with everything that breaks keys, values of every type, JSON documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from shared.definitions.instants import normalise
from shared.definitions.model import KeyPart

if TYPE_CHECKING:
    from shared.definitions.model import Order, PartType, PartValue

_LOW_TROUBLE = " !\"#$%&'()./>?[\\]~\x00\x1f\x7f\x80\x9f\xa0"
_HIGH_TROUBLE = "\u00e9\u2027\u2028\u2029\u202a\ud7ff\ue000\uffec\uffed\uffee\uffef\uffff\U0001f600"
_TROUBLE = f"{_LOW_TROUBLE}{_HIGH_TROUBLE}aAzZ09"

texts = st.one_of(
    st.text(alphabet=_TROUBLE, max_size=8),
    st.text(max_size=12),
    st.sampled_from(["", " ", "  ", "New York", "O'Brien", "a", "a ", "a!", "aa", "a/b", "a.", "a.b"]),
)
bmp_texts = st.text(st.characters(codec="utf-8", max_codepoint=0xFFFF), max_size=6)
long_texts = st.builds(
    lambda head, unit, count, tail: head + unit * count + tail,
    texts,
    st.sampled_from(["x", "/", "\U0001f600", " "]),
    st.integers(100, 400),
    texts,
)
integers = st.one_of(
    st.integers(),
    st.integers(-20, 20),
    st.sampled_from([2**53, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**25, 10**26, 10**25 - 1, -(10**40)]),
)
doubles = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0),
    st.integers(-1000, 1000).map(lambda n: n / 8),
    st.sampled_from([5e-324, -5e-324, 2.2e-308, 1e-6, 9.9e-7, 1e-7, 1.5e-5, 1e15, 1e16, 1e17, 1e25, 1e26, 1.7e308]),
)
instants = st.one_of(
    st.datetimes().map(lambda moment: f"{normalise(moment.isoformat())}"),
    st.builds(lambda digits: f"{normalise(f'2024-05-01T12:00:00.{digits}')}", st.from_regex(r"\A[0-9]{1,11}\Z")),
)
VALUES: dict[PartType, st.SearchStrategy[Any]] = {
    "string": texts,
    "integer": integers,
    "number": doubles,
    "boolean": st.booleans(),
    "datetime": instants,
}
part_types: st.SearchStrategy[PartType] = st.sampled_from(list(VALUES))
orders: st.SearchStrategy[Order] = st.sampled_from(["asc", "desc"])
parts = st.builds(lambda part_type, order: KeyPart(path="p", name="p", type=part_type, order=order), part_types, orders)


@st.composite
def parts_with_values(
    draw: st.DrawFn, count: int = 2
) -> tuple[tuple[KeyPart, ...], list[tuple[PartValue | None, ...]]]:
    """A tuple of key parts and `count` tuples of values (or nulls) for them, often sharing a beginning."""
    key = tuple(draw(st.lists(parts, min_size=1, max_size=3)))
    pools = [draw(st.lists(st.none() | VALUES[part.type], min_size=1, max_size=3)) for part in key]
    tuples = [tuple(draw(st.sampled_from(pool)) for pool in pools) for _ in range(count)]
    return key, tuples


scalars = st.one_of(st.none(), st.booleans(), integers, st.floats(allow_nan=False, allow_infinity=False), texts)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
field_names = (
    st.sampled_from(["a", "b", "c", "name", "Major Genre", "PartitionKey", "Timestamp", "_own", "é", ""]) | texts
)
documents = st.dictionaries(field_names, json_values, max_size=8)
