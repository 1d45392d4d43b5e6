"""Events: what a delivery of a producer holds, and the message that a consumer receives for each.

The broker writes three annotations (sequence number, offset, enqueued time). All others, and the message itself, reach
the consumer as the producer wrote them. What exists once per event is a named tuple: making one costs a third of a
frozen dataclass.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

from local.emulators.eventhubs.amqp import messages
from local.emulators.eventhubs.amqp.decode import compound
from local.emulators.eventhubs.amqp.encode import encode
from local.emulators.eventhubs.amqp.errors import MalformedError, reading
from local.emulators.eventhubs.amqp.types import Described, Symbol, Timestamp, ULong

PARTITION_KEY = Symbol("x-opt-partition-key")
SEQUENCE_NUMBER = Symbol("x-opt-sequence-number")
OFFSET = Symbol("x-opt-offset")
ENQUEUED_TIME = Symbol("x-opt-enqueued-time")

_BROKER_OWNED = frozenset({SEQUENCE_NUMBER, OFFSET, ENQUEUED_TIME})
_BROKER_PAIRS = 3
_ANNOTATIONS = frozenset({messages.MESSAGE_ANNOTATIONS})
_ANNOTATIONS_AND_BODIES = _ANNOTATIONS | {messages.DATA}

_ENCODED_PARTITION_KEY = encode(PARTITION_KEY)
_ENCODED_SEQUENCE_NUMBER = encode(SEQUENCE_NUMBER)
_ENCODED_OFFSET = encode(OFFSET)
_ENCODED_ENQUEUED_TIME = encode(ENQUEUED_TIME)
_ANNOTATIONS_HEAD = b"\x00" + encode(ULong(messages.MESSAGE_ANNOTATIONS)) + b"\xd1"
_MAP_HEAD = struct.Struct(">II").pack


class NewEvent(NamedTuple):
    """An event on its way in: annotations as encoded pairs, and the message from its properties on."""

    annotation_count: int
    annotations: bytes
    message: bytes


class StoredEvent(NamedTuple):
    """An event as a partition holds it."""

    sequence: int
    offset: int
    enqueued_ms: int
    annotation_count: int
    annotations: bytes
    message: bytes


@dataclass(frozen=True, slots=True)
class DeliveredEvents:
    """What one delivery of a producer holds."""

    partition_key: str | None
    events: list[NewEvent]


class _Parts(NamedTuple):
    key: str | None
    event: NewEvent
    bodies: list[bytes | None]


def unpack(message: bytes, message_format: int) -> DeliveredEvents:
    """The events in a delivery: the message itself, or every message of a batch."""
    with reading("A message"):
        if message_format != messages.BATCH_FORMAT:
            single = _parts(message, _ANNOTATIONS)
            return DeliveredEvents(single.key, [single.event])
        outer = _parts(message, _ANNOTATIONS_AND_BODIES)
        if None in outer.bodies:
            raise MalformedError("A batch has a null where a message is expected.")
        inner = [_parts(body, _ANNOTATIONS) for body in outer.bodies if body is not None]
    key = outer.key or next((parts.key for parts in inner if parts.key), None)
    return DeliveredEvents(key, [_with_key(parts, key) for parts in inner])


def _parts(message: bytes, wanted: frozenset[int]) -> _Parts:
    key, count, annotations = None, 0, b""
    bodies: list[bytes | None] = []
    kept: list[messages.Section] = []
    for section in messages.sections(message, wanted):
        if section.code >= messages.PROPERTIES:
            kept.append(section)
            if section.code == messages.DATA:
                bodies.append(section.value)
        elif section.code == messages.MESSAGE_ANNOTATIONS:
            key = _partition_key(section.value)
            count, annotations = _kept_annotations(message, section)
    return _Parts(key, NewEvent(count, annotations, _joined(message, kept)), bodies)


def _joined(message: bytes, kept: list[messages.Section]) -> bytes:
    """The sections for the consumer, in the order of the standard: a slice of the message if they stand so."""
    if not kept:
        return b""
    start, end = kept[0].start, kept[-1].end
    in_order = end == len(message) and all(kept[i].code <= kept[i + 1].code for i in range(len(kept) - 1))
    if in_order and sum(section.end - section.start for section in kept) == end - start:
        return message[start:]
    return b"".join(message[s.start : s.end] for s in sorted(kept, key=lambda section: section.code))


def _kept_annotations(message: bytes, section: messages.Section) -> tuple[int, bytes]:
    """How many annotations are the client's own, and their bytes."""
    if _BROKER_OWNED.isdisjoint(section.value):
        count, start, end = compound(message, section.value_start)
        return count // 2, message[start:end]
    own = [pair for name, pair in messages.pairs(message, section) if name not in _BROKER_OWNED]
    return len(own), b"".join(own)


def _partition_key(annotations: dict[object, object]) -> str | None:
    key = annotations.get(PARTITION_KEY)
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
