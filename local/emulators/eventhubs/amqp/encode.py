"""Values to bytes, in the shortest form of each type.

One exception: an empty list is written with its count, never as `list0`, which azure-eventhub cannot read in a frame.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any
from uuid import UUID

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
    from collections.abc import Callable, Iterable

    Encoder = Callable[[Any], bytes]

NULL = b"\x40"
_U32 = struct.Struct(">I").pack
_U32_U32 = struct.Struct(">II").pack


def encode(value: object) -> bytes:
    """The bytes of one value; its Python type says its AMQP type."""
    return _ENCODERS[type(value)](value)


def encode_list(items: Iterable[bytes]) -> bytes:
    """A list of values that are encoded already."""
    return _compound(0xC0, list(items))


def encode_map(pairs: Iterable[bytes]) -> bytes:
    """A map of keys and values, alternating, that are encoded already."""
    return _compound(0xC1, list(pairs))


def _compound(short_code: int, items: list[bytes]) -> bytes:
    body = b"".join(items)
    if len(body) < 255 and len(items) < 256:
        return bytes((short_code, len(body) + 1, len(items))) + body
    return bytes((short_code + 0x10,)) + _U32_U32(len(body) + 4, len(items)) + body


def _variable(short_code: int) -> Callable[[bytes], bytes]:
    def encode_octets(octets: bytes) -> bytes:
        if len(octets) < 256:
            return bytes((short_code, len(octets))) + octets
        return bytes((short_code + 0x10,)) + _U32(len(octets)) + octets

    return encode_octets


def _fixed(code: int, layout: str) -> Encoder:
    pack = struct.Struct(">B" + layout).pack
    return lambda value: pack(code, value)


def _unsigned(zero: bytes, short: Encoder, long: Encoder) -> Encoder:
    return lambda value: zero if value == 0 else short(value) if value < 256 else long(value)


def _signed(short: Encoder, long: Encoder) -> Encoder:
    return lambda value: short(value) if -128 <= value < 128 else long(value)


def _described(described: Described) -> bytes:
    return b"\x00" + encode(described.descriptor) + encode(described.value)


def _decimal(value: Decimal) -> bytes:
    return {4: b"\x74", 8: b"\x84", 16: b"\x94"}[len(value)] + value


def _array(array: Array) -> bytes:
    if not array:
        return b"\xf0" + _U32_U32(5, 0) + NULL
    constructor, width = _constructor(array[0])
    if any(_constructor(element)[0] != constructor for element in array):
        raise TypeError("An array holds values of more than one type.")
    body = constructor + b"".join(_in_array(element, width) for element in array)
    return b"\xf0" + _U32_U32(len(body) + 4, len(array)) + body


def _constructor(element: object) -> tuple[bytes, int]:
    """What stands once before all elements like this one, and how long the same is before a single one."""
    if isinstance(element, Described):
        inner, width = _constructor(element.value)
        prefix = b"\x00" + encode(element.descriptor)
        return prefix + inner, len(prefix) + width
    if isinstance(element, Decimal):
        return encode(element)[:1], 1
    return bytes((_ARRAY_CODES[type(element)],)), 1


def _in_array(element: object, constructor_width: int) -> bytes:
    return _widest(element)[constructor_width:]


def _widest(element: object) -> bytes:
    """One element in the widest form of its type, which all elements of an array can share."""
    if isinstance(element, Described):
        return b"\x00" + encode(element.descriptor) + _widest(element.value)
    return _WIDEST.get(type(element), encode)(element)


def _wide_octets(octets: bytes) -> bytes:
    return b"\x00" + _U32(len(octets)) + octets


def _wide_items(items: list[bytes]) -> bytes:
    body = b"".join(items)
    return b"\x00" + _U32_U32(len(body) + 4, len(items)) + body


def _flat(pairs: dict[object, object]) -> list[bytes]:
    return [encode(part) for pair in pairs.items() for part in pair]


_binary, _text, _symbol = _variable(0xA0), _variable(0xA1), _variable(0xA3)

_ENCODERS: dict[type, Encoder] = {
    type(None): lambda _: NULL,
    bool: lambda value: b"\x41" if value else b"\x42",
    UByte: _fixed(0x50, "B"),
    UShort: _fixed(0x60, "H"),
    UInt: _unsigned(b"\x43", _fixed(0x52, "B"), _fixed(0x70, "I")),
    ULong: _unsigned(b"\x44", _fixed(0x53, "B"), _fixed(0x80, "Q")),
    Byte: _fixed(0x51, "b"),
    Short: _fixed(0x61, "h"),
    Int: _signed(_fixed(0x54, "b"), _fixed(0x71, "i")),
    int: _signed(_fixed(0x55, "b"), _fixed(0x81, "q")),
    Float32: _fixed(0x72, "f"),
    float: _fixed(0x82, "d"),
    Decimal: _decimal,
    Char: lambda value: b"\x73" + _U32(ord(value)),
    Timestamp: _fixed(0x83, "q"),
    UUID: lambda value: b"\x98" + value.bytes,
    bytes: _binary,
    str: lambda value: _text(value.encode()),
    Symbol: lambda value: _symbol(value.encode("ascii")),
    list: lambda value: encode_list(map(encode, value)),
    dict: lambda value: encode_map(_flat(value)),
    Array: _array,
    Described: _described,
}

_ARRAY_CODES: dict[type, int] = {
    bool: 0x56, UByte: 0x50, UShort: 0x60, UInt: 0x70, ULong: 0x80, Byte: 0x51, Short: 0x61, Int: 0x71, int: 0x81,
    Float32: 0x72, float: 0x82, Char: 0x73, Timestamp: 0x83, UUID: 0x98,
    bytes: 0xB0, str: 0xB1, Symbol: 0xB3, list: 0xD0, dict: 0xD1, Array: 0xF0,
}  # fmt: skip

# In an array each element follows the constructor's code; these write it with a placeholder in the code's place.
_WIDEST: dict[type, Encoder] = {
    bool: lambda value: b"\x56\x01" if value else b"\x56\x00",
    UInt: _fixed(0x70, "I"),
    ULong: _fixed(0x80, "Q"),
    Int: _fixed(0x71, "i"),
    int: _fixed(0x81, "q"),
    bytes: _wide_octets,
    str: lambda value: _wide_octets(value.encode()),
    Symbol: lambda value: _wide_octets(value.encode("ascii")),
    list: lambda value: _wide_items([encode(item) for item in value]),
    dict: lambda value: _wide_items(_flat(value)),
}
