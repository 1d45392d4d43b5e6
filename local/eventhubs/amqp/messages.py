"""Messages: their sections, a batch of messages inside one, and the requests and replies of `$cbs` and `$management`.

What a client sent is kept byte for byte. It is decoded whole all the same, so that no reader ever receives bytes that
cannot be read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from local.eventhubs.amqp.decode import compound, decode
from local.eventhubs.amqp.encode import encode
from local.eventhubs.amqp.errors import MalformedError, reading
from local.eventhubs.amqp.types import Described, ULong

if TYPE_CHECKING:
    from collections.abc import Iterator

# Event Hubs' own message format: every data section is a whole encoded message.
BATCH_FORMAT = 0x80013700

HEADER, DELIVERY_ANNOTATIONS, MESSAGE_ANNOTATIONS = 0x70, 0x71, 0x72
PROPERTIES, APPLICATION_PROPERTIES = 0x73, 0x74
DATA, SEQUENCE, VALUE, FOOTER = 0x75, 0x76, 0x77, 0x78

_MAPS = frozenset({DELIVERY_ANNOTATIONS, MESSAGE_ANNOTATIONS, APPLICATION_PROPERTIES, FOOTER})
_LISTS = frozenset({HEADER, PROPERTIES, SEQUENCE})
_REPEATED = frozenset({DATA, SEQUENCE})
_CORRELATION_ID_FIELD = 5


class Section(NamedTuple):
    """One section of an encoded message: where it stands, where its value does, and what that is.

    A tuple, because one is made for every section of every event that arrives.
    """

    code: int
    start: int
    value_start: int
    end: int
    value: object


@dataclass(frozen=True, slots=True)
class Request:
    """A call of `$cbs` or `$management`."""

    message_id: object
    properties: dict[object, object]
    value: object

    def text(self, name: str) -> str:
        """An application property as text, whichever type the client chose for it; empty without one."""
        value = self.properties.get(name)
        return value.decode(errors="replace") if isinstance(value, bytes) else "" if value is None else str(value)


def sections(message: bytes) -> Iterator[Section]:
    """The sections of a message in their order; the caller wraps this in `reading`."""
    position, end, previous = 0, len(message), 0
    while position < end:
        if message[position] != 0x00:
            raise MalformedError(f"Byte {position} of a message is not the start of a section.")
        code, value_start = decode(message, position + 1)
        value, after = decode(message, value_start)
        previous = _checked_code(code, value, previous)
        yield Section(previous, position, value_start, after, value)
        position = after


def _checked_code(code: object, value: object, previous: int) -> int:
    if not isinstance(code, int) or not HEADER <= code <= FOOTER:
        raise MalformedError(f"A message has no section {code!r}.")
    if code < previous or (code == previous and code not in _REPEATED):
        raise MalformedError(f"Section {code:#04x} of a message may not follow {previous:#04x}.")
    expected = dict if code in _MAPS else list if code in _LISTS else bytes if code == DATA else object
    if not isinstance(value, expected):
        raise MalformedError(f"Section {code:#04x} of a message is not a {expected.__name__}.")
    return code


def pairs(message: bytes, section: Section) -> Iterator[tuple[object, bytes]]:
    """The keys of a map section, each with its pair's bytes."""
    count, position, _ = compound(message, section.value_start)
    for _ in range(count // 2):
        key, value_start = decode(message, position)
        _, end = decode(message, value_start)
        yield key, message[position:end]
        position = end


def request(message: bytes) -> Request:
    """The request in a message."""
    with reading("A request"):
        values = {section.code: section.value for section in sections(message)}
    properties, application_properties = values.get(PROPERTIES), values.get(APPLICATION_PROPERTIES)
    return Request(
        properties[0] if isinstance(properties, list) and properties else None,
        application_properties if isinstance(application_properties, dict) else {},
        values.get(VALUE),
    )


def reply(correlation_id: object, application_properties: dict[str, object], value: object) -> bytes:
    """The message that answers the request with this id, which comes back with the type it had."""
    properties = [*[None] * _CORRELATION_ID_FIELD, correlation_id]
    parts = ((PROPERTIES, properties), (APPLICATION_PROPERTIES, application_properties), (VALUE, value))
    return b"".join(encode(Described(ULong(code), part)) for code, part in parts)
