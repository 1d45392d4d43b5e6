"""Bytes to values. Every length is checked: what a list, map or array says it holds ends exactly where it says.

`decode` raises several kinds of errors on unreadable bytes; callers wrap a whole frame or message in `errors.reading`,
which costs one try per message and not one per value.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any
from uuid import UUID

from local.emulators.eventhubs.amqp.errors import MalformedError
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
    from collections.abc import Callable

    Decoder = Callable[[bytes, int], tuple[object, int]]
    # From the position after the type code: how many items, where the first one starts, where the last one ends.
    Head = Callable[[bytes, int], tuple[int, int, int]]

_U32 = struct.Struct(">I").unpack_from
_U32_U32 = struct.Struct(">II").unpack_from
# These elements take no bytes, so an array of nine bytes can announce four thousand million of them.
_EMPTY_ELEMENTS = frozenset({0x40, 0x41, 0x42, 0x43, 0x44, 0x45})


def decode(buffer: bytes, position: int = 0) -> tuple[object, int]:
    """The value at `position` and the position after it."""
    return _DECODERS[buffer[position]](buffer, position + 1)


def compound(buffer: bytes, position: int) -> tuple[int, int, int]:
    """How many items the list or map at `position` has, where the first one starts, and where the last one ends."""
    head = _HEADS.get(buffer[position])
    if head is None:
        raise MalformedError(f"Type {buffer[position]:#04x} stands where a list or a map is expected.")
    return head(buffer, position + 1)


def _no_head(_: bytes, position: int) -> tuple[int, int, int]:
    return 0, position, position


def _short_head(buffer: bytes, position: int) -> tuple[int, int, int]:
    return buffer[position + 1], position + 2, position + 1 + buffer[position]


def _long_head(buffer: bytes, position: int) -> tuple[int, int, int]:
    size, count = _U32_U32(buffer, position)
    return count, position + 8, position + 4 + size


_HEADS = {0x45: _no_head, 0xC0: _short_head, 0xC1: _short_head, 0xD0: _long_head, 0xD1: _long_head}


def _constant(value: object) -> Decoder:
    return lambda _, position: (value, position)


def _fixed(layout: str, kind: Callable[[Any], object] | None = None) -> Decoder:
    packed = struct.Struct(">" + layout)
    unpack, width = packed.unpack_from, packed.size
    if kind is None:
        return lambda buffer, position: (unpack(buffer, position)[0], position + width)
    return lambda buffer, position: (kind(unpack(buffer, position)[0]), position + width)


def _variable(make: Callable[[bytes], object]) -> tuple[Decoder, Decoder]:
    """The decoders of a type of variable width: with a length of one byte and with one of four."""

    def short(buffer: bytes, position: int) -> tuple[object, int]:
        start = position + 1
        end = start + buffer[position]
        if end > len(buffer):
            raise MalformedError(f"A value at byte {position} is longer than what holds it.")
        return make(buffer[start:end]), end

    def long(buffer: bytes, position: int) -> tuple[object, int]:
        start = position + 4
        end = start + int(_U32(buffer, position)[0])
        if end > len(buffer):
            raise MalformedError(f"A value at byte {position} is longer than what holds it.")
        return make(buffer[start:end]), end

    return short, long


def _items(head: Head) -> Callable[[bytes, int], tuple[list[object], int]]:
    def decode_items(buffer: bytes, position: int) -> tuple[list[object], int]:
        count, position, end = head(buffer, position)
        items: list[object] = []
        for _ in range(count):
            item, position = _DECODERS[buffer[position]](buffer, position + 1)
            items.append(item)
        _check_end(position, end)
        return items, end

    return decode_items


def _map(head: Head) -> Decoder:
    decode_items = _items(head)

    def decode_map(buffer: bytes, position: int) -> tuple[object, int]:
        items, end = decode_items(buffer, position)
        pairs = dict(zip(items[::2], items[1::2], strict=True))
        if 2 * len(pairs) != len(items):
            raise MalformedError("A map has the same key twice.")
        return pairs, end

    return decode_map


def _array(head: Head) -> Decoder:
    def decode_array(buffer: bytes, position: int) -> tuple[object, int]:
        count, position, end = head(buffer, position)
        if count == 0 and position == end:  # some encoders leave out the constructor of no elements
            return Array(), end
        elements, position = _elements(buffer, position, count)
        _check_end(position, end)
        return elements, end

    return decode_array


def _elements(buffer: bytes, position: int, count: int) -> tuple[Array, int]:
    descriptors: list[object] = []
    while buffer[position] == 0x00:
        descriptor, position = decode(buffer, position + 1)
        descriptors.append(descriptor)
    code, position = buffer[position], position + 1
    if count and code in _EMPTY_ELEMENTS:
        raise MalformedError(f"An array of type {code:#04x}, whose elements have no bytes, is not read.")
    elements = []
    for _ in range(count):
        element, position = _DECODERS[code](buffer, position)
        for descriptor in reversed(descriptors):
            element = Described(descriptor, element)
        elements.append(element)
    return Array(elements), position


def _check_end(position: int, end: int) -> None:
    if position != end:
        raise MalformedError(f"A list, map or array says that it ends at byte {end}; its items end at {position}.")


def _described(buffer: bytes, position: int) -> tuple[object, int]:
    descriptor, position = decode(buffer, position)
    value, position = decode(buffer, position)
    return Described(descriptor, value), position


def _boolean(buffer: bytes, position: int) -> tuple[object, int]:
    if buffer[position] > 1:
        raise MalformedError(f"A boolean is {buffer[position]:#04x}; only 0 and 1 are allowed.")
    return buffer[position] == 1, position + 1


def _uuid(octets: bytes) -> UUID:
    return UUID(bytes=octets)


def _character(code_point: int) -> Char:
    return Char(chr(code_point))


def _text(octets: bytes) -> str:
    return str(octets, "utf-8")


def _symbol(octets: bytes) -> Symbol:
    return Symbol(str(octets, "ascii"))


def _unknown(buffer: bytes, position: int) -> tuple[object, int]:
    raise MalformedError(f"There is no AMQP type {buffer[position - 1]:#04x} (byte {position - 1}).")


def _table() -> list[Decoder]:
    binary, text, symbol = _variable(bytes), _variable(_text), _variable(_symbol)
    known: dict[int, Decoder] = {
        0x00: _described,
        0x40: _constant(None), 0x41: _constant(True), 0x42: _constant(False), 0x56: _boolean,
        0x50: _fixed("B", UByte), 0x60: _fixed("H", UShort),
        0x43: _constant(UInt(0)), 0x52: _fixed("B", UInt), 0x70: _fixed("I", UInt),
        0x44: _constant(ULong(0)), 0x53: _fixed("B", ULong), 0x80: _fixed("Q", ULong),
        0x51: _fixed("b", Byte), 0x61: _fixed("h", Short),
        0x54: _fixed("b", Int), 0x71: _fixed("i", Int),
        0x55: _fixed("b"), 0x81: _fixed("q"),
        0x72: _fixed("f", Float32), 0x82: _fixed("d"),
        0x74: _fixed("4s", Decimal), 0x84: _fixed("8s", Decimal), 0x94: _fixed("16s", Decimal),
        0x73: _fixed("I", _character), 0x83: _fixed("q", Timestamp), 0x98: _fixed("16s", _uuid),
        0xA0: binary[0], 0xB0: binary[1], 0xA1: text[0], 0xB1: text[1], 0xA3: symbol[0], 0xB3: symbol[1],
        0x45: _items(_no_head), 0xC0: _items(_short_head), 0xD0: _items(_long_head),
        0xC1: _map(_short_head), 0xD1: _map(_long_head),
        0xE0: _array(_short_head), 0xF0: _array(_long_head),
    }  # fmt: skip
    return [known.get(code, _unknown) for code in range(256)]


_DECODERS = _table()
