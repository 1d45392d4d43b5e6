"""What is true of all AMQP values and of all bytes: the codec gives back what it wrote, or its own error."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from local.emulators.eventhubs.amqp import messages
from local.emulators.eventhubs.amqp.decode import decode
from local.emulators.eventhubs.amqp.encode import encode
from local.emulators.eventhubs.amqp.errors import AmqpError, MalformedError, reading
from local.emulators.eventhubs.amqp.frames import FrameReader, encode_frame
from local.emulators.eventhubs.amqp.performatives import Attach, Flow, Open, Transfer
from local.emulators.eventhubs.amqp.skip import skip
from local.emulators.eventhubs.amqp.types import Array, Described, Symbol, Timestamp, ULong
from local.emulators.eventhubs.log import events
from tests.property.local.amqp_values import ASCII, VALUES, damaged


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


_EVENT = b"".join(
    (
        encode(Described(ULong(messages.MESSAGE_ANNOTATIONS), {events.PARTITION_KEY: "k"})),
        encode(Described(ULong(messages.PROPERTIES), ["id", None, "to"])),
        encode(Described(ULong(messages.APPLICATION_PROPERTIES), {"a": [1, {"b": Symbol("c")}]})),
        encode(Described(ULong(messages.DATA), b"body")),
    )
)
_BATCH = 2 * encode(Described(ULong(messages.DATA), _EVENT))
_FRAMES = b"".join(
    (
        encode_frame(0, Open("me", max_frame_size=512)),
        encode_frame(0, Attach("link", 0, True, source=Described(ULong(0x28), ["hub"]), properties={Symbol("p"): 1})),
        encode_frame(0, Flow(0, 1, 0, 1, 0, 0, 1)),
        encode_frame(0, Transfer(0, 0, b"t", messages.BATCH_FORMAT), _BATCH),
    )
)


@given(st.sampled_from([_EVENT, _BATCH, _FRAMES]).flatmap(damaged))
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
    broker: dict[object, object] = {
        events.SEQUENCE_NUMBER: 5,
        events.OFFSET: "70",
        events.ENQUEUED_TIME: Timestamp(900),
    }
    assert _typed(sections[0].value) == _typed({**broker, **own, events.PARTITION_KEY: key})
    assert message[sections[1].start :] == bare
    assert delivered.partition_key == key
