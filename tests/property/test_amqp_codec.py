"""What is true of all AMQP values and of all bytes: the codec gives back what it wrote, or its own error."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from local.eventhubs import events
from local.eventhubs.amqp import messages
from local.eventhubs.amqp.decode import decode
from local.eventhubs.amqp.encode import encode
from local.eventhubs.amqp.errors import AmqpError, MalformedError, reading
from local.eventhubs.amqp.frames import FrameReader, encode_frame
from local.eventhubs.amqp.performatives import Attach, Flow, Open, Transfer
from local.eventhubs.amqp.skip import skip
from local.eventhubs.amqp.types import (
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


def _typed(value: object) -> object:
    """A value with the types of everything in it, because UInt(1) == 1."""
    if isinstance(value, Described):
        return Described, _typed(value.descriptor), _typed(value.value)
    if isinstance(value, list | Array):
        return type(value), [_typed(item) for item in value]
    if isinstance(value, dict):
        return dict, [(_typed(key), _typed(item)) for key, item in value.items()]
    return type(value), value, math.copysign(1, value) if isinstance(value, float) else None


@given(VALUES)
def test_what_is_encoded_decodes_to_the_same(value: object) -> None:
    """Values come back with their types, and nothing is left over."""
    octets = encode(value)
    decoded, end = decode(octets)
    assert _typed(decoded) == _typed(value)
    assert end == len(octets)


@given(VALUES, st.binary(max_size=20))
def test_stepping_over_a_value_ends_where_decoding_ends(value: object, rest: bytes) -> None:
    """A value can be skipped by its size alone."""
    octets = encode(value)
    assert skip(octets + rest, 0) == len(octets)


@given(st.binary(max_size=200))
def test_random_bytes_give_a_value_or_the_codecs_own_error(octets: bytes) -> None:
    """No bytes make the decoder raise anything else."""
    try:
        with reading("A value"):
            decode(octets)
    except MalformedError as error:
        assert error.description


@st.composite
def _damaged(draw: st.DrawFn) -> bytes:
    """A valid message or stream of frames with some bytes changed, added or cut."""
    event = encode(Described(ULong(messages.MESSAGE_ANNOTATIONS), {events.PARTITION_KEY: "k"}))
    event += encode(Described(ULong(messages.PROPERTIES), ["id", None, "to"]))
    event += encode(Described(ULong(messages.APPLICATION_PROPERTIES), {"a": draw(VALUES)}))
    event += encode(Described(ULong(messages.DATA), b"body"))
    batch = encode(Described(ULong(messages.DATA), event)) * 2
    source = Described(ULong(0x28), ["hub", None])
    stream = b"".join(
        (
            encode_frame(0, Open("me", max_frame_size=512)),
            encode_frame(0, Attach("link", 0, True, source=source, properties={Symbol("p"): 1})),
            encode_frame(0, Flow(0, 1, 0, 1, 0, 0, 1)),
            encode_frame(0, Transfer(0, 0, b"t", messages.BATCH_FORMAT), batch),
        )
    )
    octets = bytearray(draw(st.sampled_from([event, batch, stream])))
    for _ in range(draw(st.integers(1, 6))):
        place = draw(st.integers(0, len(octets) - 1))
        octets[place : place + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
        octets = octets or bytearray(1)
    return bytes(octets)


@given(_damaged())
def test_damaged_frames_and_messages_give_only_the_codecs_own_error(octets: bytes) -> None:
    """Whatever was damaged, reading either works or says what is wrong with an AMQP condition."""
    readers = (
        lambda: list(FrameReader(65536).feed(octets)),
        lambda: events.unpack(octets, 0),
        lambda: events.unpack(octets, messages.BATCH_FORMAT),
        lambda: messages.request(octets),
    )
    for read in readers:
        try:
            read()
        except AmqpError as error:
            assert error.condition.startswith("amqp:")


@given(st.text(max_size=20), st.dictionaries(ASCII.map(Symbol), VALUES, max_size=3), VALUES)
def test_an_event_reaches_the_consumer_as_it_was_sent(key: str, own: dict[object, object], value: object) -> None:
    """All annotations of the client, and the bytes from the properties on, are delivered unchanged."""
    annotations = {**own, events.PARTITION_KEY: key, events.OFFSET: "forged"}
    bare = encode(Described(ULong(messages.APPLICATION_PROPERTIES), {"v": value}))
    bare += encode(Described(ULong(messages.DATA), b"body"))
    sent = encode(Described(ULong(messages.MESSAGE_ANNOTATIONS), annotations)) + bare
    delivered = events.unpack(sent, 0)
    message = events.delivery(events.StoredEvent(5, 70, 900, *delivered.events[0]))
    sections = list(messages.sections(message))
    broker = {events.SEQUENCE_NUMBER: 5, events.OFFSET: "70", events.ENQUEUED_TIME: Timestamp(900)}
    assert _typed(sections[0].value) == _typed({**broker, **own, events.PARTITION_KEY: key})
    assert message[sections[1].start :] == bare
    assert delivered.partition_key == key
