"""Strategies for AMQP: every kind of value, and bytes that were right before they were damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from hypothesis import strategies as st

from local.emulators.eventhubs.amqp.types import (
    Array,
    Byte,
    Char,
    Decimal,
    Described,
    Float32,
    Int,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
)

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def _integers(kind: type[int], bits: int, *, signed: bool) -> SearchStrategy[int]:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return st.integers(low, high).map(kind)


ASCII = st.text(st.characters(max_codepoint=127), max_size=300)
PRIMITIVES = [
    st.booleans(),
    _integers(UByte, 8, signed=False),
    _integers(UShort, 16, signed=False),
    _integers(UInt, 32, signed=False),
    _integers(ULong, 64, signed=False),
    _integers(Byte, 8, signed=True),
    _integers(Short, 16, signed=True),
    _integers(Int, 32, signed=True),
    _integers(int, 64, signed=True),
    _integers(Timestamp, 64, signed=True),
    st.floats(width=32, allow_nan=False).map(Float32),
    st.floats(allow_nan=False),
    st.sampled_from([4, 8, 16]).flatmap(lambda size: st.binary(min_size=size, max_size=size)).map(Decimal),
    st.characters(exclude_categories=["Cs"]).map(Char),
    st.binary(max_size=300),
    st.text(max_size=300),
    ASCII.map(Symbol),
    st.binary(min_size=16, max_size=16).map(lambda octets: UUID(bytes=octets)),
]
KEYS = st.text(max_size=10) | st.integers(-(1 << 63), -2)


def _arrays(elements: SearchStrategy[object]) -> SearchStrategy[Array]:
    same_type = [*PRIMITIVES, st.lists(elements, max_size=3), st.dictionaries(KEYS, elements, max_size=3)]
    described = st.builds(Described, st.just(ULong(1)), PRIMITIVES[3])
    return st.one_of(*(st.lists(kind, max_size=5).map(_one_width) for kind in [*same_type, described]))


def _one_width(elements: list[object]) -> Array:
    """An array of decimals holds one width; the others have one type already."""
    widths = {len(element) for element in elements if isinstance(element, Decimal)}
    return Array(e for e in elements if not isinstance(e, Decimal) or len(e) == min(widths))


def _containers(elements: SearchStrategy[object]) -> SearchStrategy[object]:
    return st.one_of(
        st.lists(elements, max_size=5),
        st.dictionaries(KEYS, elements, max_size=5),
        st.builds(Described, st.one_of(*PRIMITIVES), elements),
        _arrays(elements),
    )


VALUES: SearchStrategy[object] = st.recursive(st.none() | st.one_of(*PRIMITIVES), _containers, max_leaves=20)


@st.composite
def damaged(draw: st.DrawFn, octets: bytes) -> bytes:
    """`octets` with some of them changed, added or cut."""
    result = bytearray(octets)
    for _ in range(draw(st.integers(1, 6))):
        place = draw(st.integers(0, len(result)))
        result[place : place + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(result)
