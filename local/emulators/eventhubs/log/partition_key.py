"""Which partition a key belongs to: Bob Jenkins' lookup3 hash of its UTF-8 bytes, folded as azure-eventhub folds it.

The SDKs do not agree with each other: azure-eventhub's own resolver hashes code points (the same for ASCII keys), and
that of @azure/event-hubs takes the remainder of a negative hash towards zero.
"""

from __future__ import annotations

import struct

_MASK = 0xFFFFFFFF
_SEED = 0xDEADBEEF
_BLOCK_BYTES = 12
_THREE_WORDS = struct.Struct("<III")
# The rotations of lookup3's two steps, in its order.
_MIX = (4, 6, 8, 16, 19, 4)
_FINAL = (14, 11, 25, 16, 4, 14, 24)


def partition_for_key(key: str, partition_count: int) -> int:
    """The number of the partition that holds the events with this key."""
    octets = key.encode()
    if not octets:
        return 0
    a = b = c = (_SEED + len(octets)) & _MASK
    # The last block is hashed apart, also when it is full.
    last = (len(octets) - 1) // _BLOCK_BYTES * _BLOCK_BYTES
    for start in range(0, last, _BLOCK_BYTES):
        a, b, c = _mix(*_added(a, b, c, octets[start : start + _BLOCK_BYTES]))
    b, c, _ = _final(*_added(a, b, c, octets[last:].ljust(_BLOCK_BYTES, b"\0")))
    folded = (b ^ c) & 0xFFFF
    return _as_int16(folded) % partition_count


def _added(a: int, b: int, c: int, block: bytes) -> tuple[int, int, int]:
    x, y, z = _THREE_WORDS.unpack(block)
    return (a + x) & _MASK, (b + y) & _MASK, (c + z) & _MASK


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    for bits in _MIX:
        a, b, c = b, (c + b) & _MASK, ((a - c) & _MASK) ^ _rotated(c, bits)
    return a, b, c


def _final(a: int, b: int, c: int) -> tuple[int, int, int]:
    for bits in _FINAL:
        a, b, c = b, ((c ^ b) - _rotated(b, bits)) & _MASK, a
    return a, b, c


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _MASK


def _as_int16(word: int) -> int:
    return word - 0x10000 if word & 0x8000 else word
