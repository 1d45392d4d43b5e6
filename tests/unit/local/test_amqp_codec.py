"""The AMQP codec: known bytes, and the sentence for bytes that are not AMQP."""

from __future__ import annotations

from uuid import UUID

import pytest

from local.emulators.eventhubs.amqp import messages
from local.emulators.eventhubs.amqp.composites import encode_performative
from local.emulators.eventhubs.amqp.decode import decode
from local.emulators.eventhubs.amqp.encode import encode
from local.emulators.eventhubs.amqp.errors import AmqpError, MalformedError, reading
from local.emulators.eventhubs.amqp.frames import (
    FrameReader,
    ProtocolHeader,
    decode_frame,
    encode_frame,
    transfer_frames,
)
from local.emulators.eventhubs.amqp.performatives import Attach, Begin, Close, Detach, End, Flow, Open, Transfer
from local.emulators.eventhubs.amqp.types import Array, Described, Float32, Int, Symbol, Timestamp, UInt, ULong


@pytest.mark.parametrize(
    ("value", "octets"),
    [
        (None, "40"),
        (True, "41"),
        (UInt(0), "43"),
        (UInt(7), "5207"),
        (UInt(300), "700000012c"),
        (ULong(0x14), "5314"),
        (-1, "55ff"),
        (1 << 40, "810000010000000000"),
        (Int(-200), "71ffffff38"),
        (Float32(0.5), "723f000000"),
        (Timestamp(1), "830000000000000001"),
        ("é", "a102c3a9"),
        (Symbol("amqp"), "a304616d7170"),
        (b"\x00", "a00100"),
        ([], "c00100"),
        ([None, "a"], "c0050240a10161"),
        ({"a": 1}, "c10602a101615501"),
        (Described(ULong(0x24), []), "005324c00100"),
        (UUID(int=1), "9800000000000000000000000000000001"),
        (Array((Symbol("a"), Symbol("b"))), "f00000000f00000002b3000000016100000001" + "62"),
    ],
)
def test_a_value_has_the_bytes_of_the_specification(value: object, octets: str) -> None:
    """Values are written in the shortest form of their type, and an empty list with its count."""
    assert encode(value).hex() == octets
    assert decode(bytes.fromhex(octets)) == (value, len(octets) // 2)


@pytest.mark.parametrize(
    ("octets", "reason"),
    [
        ("", "ends before"),
        ("70ff", "ends before"),
        ("a105ab", "longer than what holds it"),
        ("b1ffffffff", "longer than what holds it"),
        ("3f", "no AMQP type 0x3f"),
        ("a101ff", "not allowed"),
        ("5602", "boolean"),
        ("c00a0240", "ends before"),
        ("c0030140", "says that it ends"),
        ("c10201" + "40", "not allowed"),
        ("c10505a10161a10161", "ends before"),
        ("c10904a1016140a1016140", "same key twice"),
        ("c10502c0010040", "not allowed"),
        ("f000000005ffffffff40", "no bytes"),
        ("7300ffffff", "not allowed"),
    ],
)
def test_unreadable_bytes_are_named(octets: str, reason: str) -> None:
    """Each kind of damage gets the codec's own error with a sentence about it."""
    with pytest.raises(MalformedError, match=reason), reading("A value"):
        decode(bytes.fromhex(octets))


def test_deep_nesting_is_refused() -> None:
    """A value of a hundred thousand levels is an error, not the end of the process."""
    with pytest.raises(MalformedError, match="nested too deeply"), reading("A value"):
        decode(b"\x00" * 100_000)


@pytest.mark.parametrize(
    ("performative", "field_count"),
    [
        (Open("c"), 10),
        (Begin(None, 0, 1, 1), 8),
        (Attach("l", 0, True), 14),
        (Flow(None, 1, 0, 1), 11),
        (Transfer(0), 11),
        (Detach(0), 3),
        (End(), 1),
        (Close(), 1),
    ],
)
def test_every_field_of_a_performative_is_written(performative: object, field_count: int) -> None:
    """azure-eventhub reads fields by index, so that trailing nulls are written too."""
    described, _ = decode(encode_performative(performative))
    assert isinstance(described, Described)
    assert isinstance(described.value, list)
    assert len(described.value) == field_count


def test_a_peer_may_leave_out_trailing_fields() -> None:
    """Fields that are not on the wire are None."""
    body = encode(Described(ULong(0x10), ["me"]))
    frame = decode_frame((8 + len(body)).to_bytes(4) + b"\x02\x00\x00\x00" + body)
    assert frame.performative == Open("me")


@pytest.mark.parametrize(
    ("code", "fields", "reason"),
    [
        (0x10, [], "lacks its field container_id"),
        (0x12, ["name", "handle"], "handle is not a uint"),
        (0x14, [UInt(1), True], "delivery_id is not a uint"),
        (0x18, [None, None], "more than are defined"),
        (0x99, [], "no performative"),
    ],
)
def test_a_performative_with_wrong_fields_is_refused(code: int, fields: list[object], reason: str) -> None:
    """Missing, surplus and mistyped fields are named."""
    body = encode(Described(ULong(code), fields))
    with pytest.raises(AmqpError, match=reason):
        decode_frame((8 + len(body)).to_bytes(4) + b"\x02\x00\x00\x00" + body)


def test_frames_arrive_in_any_pieces() -> None:
    """One byte at a time gives the same headers and frames as all at once."""
    stream = b"AMQP\x00\x01\x00\x00" + encode_frame(3, Open("me")) + encode_frame(3, Transfer(1), b"payload")
    whole = list(FrameReader(1024).feed(stream))
    reader = FrameReader(1024)
    assert [unit for octet in stream for unit in reader.feed(bytes((octet,)))] == whole
    assert isinstance(whole[0], ProtocolHeader)
    assert len(whole) == 3


@pytest.mark.parametrize(
    "start", [b"\x16\x03\x01\x02\x00\x01\x00\x01", b"GET / HTTP/1.1\r\n", b"\x00\x00\x00\x07\x02\0\0\0"]
)
def test_a_stream_that_is_not_amqp_is_told_apart_from_its_first_bytes(start: bytes) -> None:
    """TLS, HTTP and an impossible size are framing errors with a hint."""
    with pytest.raises(MalformedError, match="UseDevelopmentEmulator"):
        list(FrameReader(65536).feed(start))


@pytest.mark.parametrize("size", [0, 1, 469, 470, 471, 5000])
def test_a_long_message_is_cut_into_frames(size: int) -> None:
    """The frames of one delivery hold its bytes in order, none is too large, and all but the last say more."""
    message = bytes(i % 251 for i in range(size))
    pieces = transfer_frames(5, 7, 9, message, 512, is_settled=True)
    frames = [decode_frame(piece) for piece in pieces]
    assert b"".join(frame.payload for frame in frames) == message
    assert max(map(len, pieces)) <= 512
    assert [frame.performative.more for frame in frames] == [True] * (len(frames) - 1) + [False]
    expected = Transfer(7, 9, (9).to_bytes(4), 0, True, False, batchable=False)
    assert frames[-1].performative == expected
    assert frames[-1].channel == 5


def test_sections_out_of_order_are_refused() -> None:
    """A message with its properties before its annotations is not AMQP."""
    message = encode(Described(ULong(messages.PROPERTIES), [])) + encode(Described(ULong(messages.HEADER), []))
    with pytest.raises(MalformedError, match="may not follow"):
        list(messages.sections(message))
