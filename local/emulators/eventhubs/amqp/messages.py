"""Messages: their sections, a batch of messages inside one, and the requests and replies of `$cbs` and `$management`.

What a client sent is kept byte for byte. Its sections are checked (kinds, order, sizes); what is inside properties and
body belongs to the producer and the consumer, and is skipped, as AMQP demands of intermediaries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from local.emulators.eventhubs.amqp.decode import compound, decode
from local.emulators.eventhubs.amqp.encode import encode
from local.emulators.eventhubs.amqp.errors import MalformedError, reading
from local.emulators.eventhubs.amqp.skip import skip
from local.emulators.eventhubs.amqp.types import Described, ULong

if TYPE_CHECKING:
    from collections.abc import Iterator

# Event Hubs' own message format: every data section is a whole encoded message.
BATCH_FORMAT = 0x80013700

HEADER, DELIVERY_ANNOTATIONS, MESSAGE_ANNOTATIONS = 0x70, 0x71, 0x72
PROPERTIES, APPLICATION_PROPERTIES = 0x73, 0x74
DATA, SEQUENCE, VALUE, FOOTER = 0x75, 0x76, 0x77, 0x78

_LIST, _MAP, _BINARY = frozenset({0x45, 0xC0, 0xD0}), frozenset({0xC1, 0xD1}), frozenset({0xA0, 0xB0})
# The type codes that the value of a section may begin with; a value section holds any type.
_FORMS: dict[int, frozenset[int]] = {
    HEADER: _LIST, DELIVERY_ANNOTATIONS: _MAP, MESSAGE_ANNOTATIONS: _MAP, PROPERTIES: _LIST,
    APPLICATION_PROPERTIES: _MAP, DATA: _BINARY | {0x40}, SEQUENCE: _LIST, VALUE: frozenset(range(256)), FOOTER: _MAP,
}  # fmt: skip
ALL_SECTIONS = frozenset(_FORMS)
_REPEATED = frozenset({DATA, SEQUENCE})
# These may stand anywhere, once: azure-eventhub writes delivery annotations last, rhea a footer before the body.
_ANYWHERE = frozenset({DELIVERY_ANNOTATIONS, FOOTER})
_SECTION_HEAD = b"\x00\x53"
_CORRELATION_ID_FIELD = 5


class Section(NamedTuple):
    """One section of an encoded message: where it stands, where its value does, and what that is.

    A tuple, because one is made for every section of every event that arrives.
    """

    code: int
    start: int
    value_start: int
    value: Any  # of the type that its code demands; None in a section that was not wanted, and in null data
    end: int


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


def sections(message: bytes, wanted: frozenset[int] = ALL_SECTIONS) -> Iterator[Section]:
    """The sections of a message as they stand; those in `wanted` are decoded, the others stepped over.

    The caller wraps this in `reading`.
    """
    position, end, previous = 0, len(message), 0
    seen_anywhere: set[int] = set()
    while position < end:
        # What every encoder writes for a section's code; any other way to write it is read as well.
        if message.startswith(_SECTION_HEAD, position):
            code, start = message[position + 2], position + 3
        else:
            code, start = _section_code(message, position)
        forms = _FORMS.get(code)
        if forms is None or message[start] not in forms:
            raise MalformedError(f"A message has no section {code:#04x} of type {message[start]:#04x}.")
        if code in _ANYWHERE:
            if code in seen_anywhere:
                raise MalformedError(f"Section {code:#04x} stands twice in a message.")
            seen_anywhere.add(code)
        elif code <= previous and not (code == previous and code in _REPEATED):
            raise MalformedError(f"Section {code:#04x} of a message may not follow {previous:#04x}.")
        else:
            previous = code
        value, after = decode(message, start) if code in wanted else (None, skip(message, start))
        yield Section(code, position, start, value, after)
        position = after


def _section_code(message: bytes, position: int) -> tuple[int, int]:
    code, start = decode(message, position + 1)
    if message[position] != 0x00 or not isinstance(code, int):
        raise MalformedError(f"Byte {position} of a message is not the start of a section.")
    return code, start


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
