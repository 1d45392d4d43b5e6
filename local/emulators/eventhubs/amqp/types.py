"""Python values for the AMQP types that Python lacks.

A long is an int, a double a float, a string a str, binary bytes, a list a list, a map a dict. The others are subclasses
of those, so that what was decoded encodes again as the type it had.
"""

from __future__ import annotations

from dataclasses import dataclass


class Symbol(str):
    """An ASCII name from a constrained domain."""

    __slots__ = ()


class Char(str):
    """One Unicode character."""

    __slots__ = ()


class Timestamp(int):
    """Milliseconds since 1970, UTC."""

    __slots__ = ()


class UByte(int):
    """An unsigned integer of 8 bits."""

    __slots__ = ()


class UShort(int):
    """An unsigned integer of 16 bits."""

    __slots__ = ()


class UInt(int):
    """An unsigned integer of 32 bits."""

    __slots__ = ()


class ULong(int):
    """An unsigned integer of 64 bits."""

    __slots__ = ()


class Byte(int):
    """A signed integer of 8 bits."""

    __slots__ = ()


class Short(int):
    """A signed integer of 16 bits."""

    __slots__ = ()


class Int(int):
    """A signed integer of 32 bits."""

    __slots__ = ()


class Float32(float):
    """A floating point number of 32 bits."""

    __slots__ = ()


class Decimal(bytes):
    """An IEEE 754 decimal of 32, 64 or 128 bits, as it stands on the wire: nothing here calculates with it."""

    __slots__ = ()


class Array(tuple[object, ...]):
    """Values of one type that share one constructor."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Described:
    """A value with a descriptor that says what it means."""

    descriptor: object
    value: object
