"""Events: what a delivery of a producer holds, and the message that a consumer receives for each.

The broker writes three annotations (sequence number, offset, enqueued time). All others, and the message itself, reach
the consumer as the producer wrote them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from local.eventhubs.amqp import messages
from local.eventhubs.amqp.encode import encode
from local.eventhubs.amqp.errors import reading
from local.eventhubs.amqp.types import Described, Symbol, Timestamp, ULong

PARTITION_KEY = Symbol("x-opt-partition-key")
SEQUENCE_NUMBER = Symbol("x-opt-sequence-number")
OFFSET = Symbol("x-opt-offset")
ENQUEUED_TIME = Symbol("x-opt-enqueued-time")

_BROKER_OWNED = frozenset({SEQUENCE_NUMBER, OFFSET, ENQUEUED_TIME})
_BROKER_PAIRS = 3

_ENCODED_PARTITION_KEY = encode(PARTITION_KEY)
_ENCODED_SEQUENCE_NUMBER = encode(SEQUENCE_NUMBER)
_ENCODED_OFFSET = encode(OFFSET)
_ENCODED_ENQUEUED_TIME = encode(ENQUEUED_TIME)
_ANNOTATIONS_HEAD = b"\x00" + encode(ULong(messages.MESSAGE_ANNOTATIONS)) + b"\xd1"
_MAP_HEAD = struct.Struct(">II").pack


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event on its way in: annotations as encoded pairs, and the message from its properties on."""

    annotation_count: int
    annotations: bytes
    message: bytes


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event as a partition holds it."""

    sequence: int
    offset: int
    enqueued_ms: int
    annotation_count: int
    annotations: bytes
    message: bytes


@dataclass(frozen=True, slots=True)
class Delivered:
    """What one delivery of a producer holds."""

    partition_key: str | None
    events: list[NewEvent]


@dataclass(frozen=True, slots=True)
class _Parts:
    key: str | None
    event: NewEvent
    bodies: list[bytes]


def unpack(message: bytes, message_format: int) -> Delivered:
    """The events in a delivery: the message itself, or every message of a batch."""
    with reading("A message"):
        outer = _parts(message)
        if message_format != messages.BATCH_FORMAT:
            return Delivered(outer.key, [outer.event])
        inner = [_parts(body) for body in outer.bodies]
    key = outer.key or next((parts.key for parts in inner if parts.key), None)
    return Delivered(key, [_with_key(parts, key) for parts in inner])


def _parts(message: bytes) -> _Parts:
    key, own, kept = None, list[bytes](), len(message)
    bodies = list[bytes]()
    for section in messages.sections(message):
        if section.code >= messages.PROPERTIES:
            kept = min(kept, section.start)
        if isinstance(section.value, bytes) and section.code == messages.DATA:
            bodies.append(section.value)
        elif section.code == messages.MESSAGE_ANNOTATIONS:
            key = _partition_key(section)
            own = [pair for name, pair in messages.pairs(message, section) if name not in _BROKER_OWNED]
    return _Parts(key, NewEvent(len(own), b"".join(own), message[kept:]), bodies)


def _partition_key(section: messages.Section) -> str | None:
    key = section.value.get(PARTITION_KEY) if isinstance(section.value, dict) else None
    return key.decode() if isinstance(key, bytes) else None if key is None else str(key)


def _with_key(parts: _Parts, key: str | None) -> NewEvent:
    """A batch carries the key once; each of its events is delivered with it."""
    if key is None or parts.key is not None:
        return parts.event
    pair = _ENCODED_PARTITION_KEY + encode(key)
    return NewEvent(parts.event.annotation_count + 1, parts.event.annotations + pair, parts.event.message)


def delivery(event: StoredEvent) -> bytes:
    """The message that a consumer receives."""
    annotations = b"".join(
        (
            _ENCODED_SEQUENCE_NUMBER, encode(event.sequence),
            _ENCODED_OFFSET, encode(str(event.offset)),
            _ENCODED_ENQUEUED_TIME, encode(Timestamp(event.enqueued_ms)),
            event.annotations,
        )
    )  # fmt: skip
    count = 2 * (_BROKER_PAIRS + event.annotation_count)
    return _ANNOTATIONS_HEAD + _MAP_HEAD(len(annotations) + 4, count) + annotations + event.message


def runtime_metrics(last_sequence: int, last_offset: int, last_enqueued_ms: int, now_ms: int) -> bytes:
    """Delivery annotations that say how far the partition has come, for a consumer that asked for them."""
    values = {
        Symbol("last_enqueued_sequence_number"): last_sequence,
        Symbol("last_enqueued_offset"): str(last_offset),
        Symbol("last_enqueued_time_utc"): Timestamp(last_enqueued_ms),
        Symbol("runtime_info_retrieval_time_utc"): Timestamp(now_ms),
    }
    return encode(Described(ULong(messages.DELIVERY_ANNOTATIONS), values))
