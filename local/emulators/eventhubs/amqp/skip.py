"""Stepping over a value by its size, without looking into it: a type code's first digit says how its size is known."""

from __future__ import annotations

import struct

from local.emulators.eventhubs.amqp.errors import MalformedError

_U32 = struct.Struct(">I").unpack_from
_FIXED_WIDTHS = {0x4: 0, 0x5: 1, 0x6: 2, 0x7: 4, 0x8: 8, 0x9: 16}
_SHORT_SIZES = frozenset({0xA, 0xC, 0xE})
_LONG_SIZES = frozenset({0xB, 0xD, 0xF})


def skip(buffer: bytes, position: int) -> int:
    """The position after the value at `position`."""
    kind = buffer[position] >> 4
    if kind in _LONG_SIZES:
        end = position + 5 + int(_U32(buffer, position + 1)[0])
    elif kind in _SHORT_SIZES:
        end = position + 2 + buffer[position + 1]
    elif kind in _FIXED_WIDTHS:
        end = position + 1 + _FIXED_WIDTHS[kind]
    elif buffer[position] == 0x00:
        end = skip(buffer, skip(buffer, position + 1))
    else:
        raise MalformedError(f"There is no AMQP type {buffer[position]:#04x} (byte {position}).")
    if end > len(buffer):
        raise MalformedError(f"A value at byte {position} is longer than what holds it.")
    return end
