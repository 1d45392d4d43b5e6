"""Frames and protocol headers: cutting the byte stream of a peer into them, and writing ours."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local.emulators.eventhubs.amqp.composites import encode_performative, performative_from
from local.emulators.eventhubs.amqp.decode import compound, decode
from local.emulators.eventhubs.amqp.errors import FRAMING_ERROR, MalformedError, reading

if TYPE_CHECKING:
    from collections.abc import Iterator

AMQP_HEADER = b"AMQP\x00\x01\x00\x00"
SASL_HEADER = b"AMQP\x03\x01\x00\x00"
AMQP_FRAME, SASL_FRAME = 0, 1
# The smallest size that every peer must accept.
MIN_MAX_FRAME_SIZE = 512
HEARTBEAT = struct.pack(">IBBH", 8, 2, AMQP_FRAME, 0)

_HEAD = struct.Struct(">IBBH")
# A frame's head and a transfer with all of its eleven fields; see `transfer_frames`.
_TRANSFER = struct.Struct(">IBBH 6s BB BI BBI 1s 1s 1s 5s")
_TRANSFER_LIST = bytes((0x00, 0x53, 0x14, 0xC0, _TRANSFER.size - 8 - 5, 11))
_UINT_ZERO, _TRUE, _FALSE = b"\x43", b"\x41", b"\x42"
_FOUR_NULLS_AND_FALSE = b"\x40\x40\x40\x40\x42"


@dataclass(frozen=True, slots=True)
class ProtocolHeader:
    """Eight bytes that say which protocol follows."""

    octets: bytes


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame; a heartbeat has no performative."""

    kind: int
    channel: int
    performative: Any
    payload: bytes


def encode_frame(channel: int, performative: object, payload: bytes = b"", kind: int = AMQP_FRAME) -> bytes:
    """The bytes of a frame."""
    body = encode_performative(performative)
    return _HEAD.pack(8 + len(body) + len(payload), 2, kind, channel) + body + payload


def transfer_frames(
    channel: int, handle: int, delivery_id: int, message: bytes, max_frame_bytes: int, is_settled: bool
) -> list[bytes]:
    """The frames that carry one message; `handle` is below 256.

    The same bytes as `encode_frame` of a `Transfer`, packed in one go: this runs for every event that is received.
    """
    room, settled, last = max_frame_bytes - _TRANSFER.size, _TRUE if is_settled else _FALSE, len(message)
    return [
        _TRANSFER.pack(
            _TRANSFER.size + min(room, last - start), 2, AMQP_FRAME, channel, _TRANSFER_LIST, 0x52, handle,
            0x70, delivery_id, 0xA0, 4, delivery_id, _UINT_ZERO,
            settled, _TRUE if start + room < last else _FALSE, _FOUR_NULLS_AND_FALSE,
        ) + message[start : start + room]
        for start in range(0, last or 1, room)
    ]  # fmt: skip


def decode_frame(octets: bytes) -> Frame:
    """The frame in `octets`, which are exactly one frame."""
    _, data_offset, kind, channel = _HEAD.unpack_from(octets)
    start = 4 * data_offset
    if not 8 <= start <= len(octets) or kind not in (AMQP_FRAME, SASL_FRAME):
        raise MalformedError(f"A frame of type {kind} has its body at byte {start}.", FRAMING_ERROR)
    if start == len(octets):
        return Frame(kind, channel, None, b"")
    with reading("A frame"):
        performative, end = _performative(octets, start)
    return Frame(kind, channel, performative, octets[end:])


def _performative(octets: bytes, position: int) -> tuple[object, int]:
    if octets[position] != 0x00:
        raise MalformedError("A frame's body does not begin with a described type.")
    code, position = decode(octets, position + 1)
    count, position, end = compound(octets, position)
    values = []
    for _ in range(count):
        value, position = decode(octets, position)
        values.append(value)
    if position != end:
        raise MalformedError("The fields of a performative do not end where it does.")
    return performative_from(code, values), end


class FrameReader:
    """Cuts what arrives into protocol headers and frames; a frame may arrive in any number of pieces."""

    def __init__(self, max_frame_size: int) -> None:
        self._max_frame_size = max_frame_size
        self._pending = bytearray()

    def feed(self, octets: bytes) -> Iterator[ProtocolHeader | Frame]:
        """Everything that is complete now."""
        self._pending += octets
        position = 0
        try:
            while (end := self._end_of_next(position)) is not None:
                piece, position = bytes(self._pending[position:end]), end
                yield ProtocolHeader(piece) if piece.startswith(b"AMQP") else decode_frame(piece)
        finally:
            del self._pending[:position]

    def _end_of_next(self, position: int) -> int | None:
        if len(self._pending) - position < 8:
            return None
        if self._pending.startswith(b"AMQP", position):
            return position + 8
        size = int(_HEAD.unpack_from(self._pending, position)[0])
        if not 8 <= size <= self._max_frame_size:
            raise MalformedError(
                f"A frame of {size} bytes is announced; frames have 8 to {self._max_frame_size}. If the client uses "
                "TLS, add UseDevelopmentEmulator=true to its connection string.",
                FRAMING_ERROR,
            )
        return position + size if len(self._pending) - position >= size else None
