"""MurmurHash3, the 128-bit variant for 64-bit machines: the hash under Cosmos DB's partitioning.

Written from the published algorithm; the contract tests hold it to the SDK's own results.
"""

from __future__ import annotations

import struct

_MASK = (1 << 64) - 1
_C1 = 0x87C37B91114253D5
_C2 = 0x4CF5AD432745937F
_BLOCK = struct.Struct("<QQ")


def _rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (64 - bits))) & _MASK


def _mix_first(k1: int) -> int:
    return _rotate(k1 * _C1 & _MASK, 31) * _C2 & _MASK


def _mix_second(k2: int) -> int:
    return _rotate(k2 * _C2 & _MASK, 33) * _C1 & _MASK


def _finish(value: int) -> int:
    value = (value ^ (value >> 33)) * 0xFF51AFD7ED558CCD & _MASK
    value = (value ^ (value >> 33)) * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ (value >> 33)


def murmur128(content: bytes) -> bytes:
    """The 16 bytes of the hash of `content` with seed 0, least significant first."""
    h1 = h2 = 0
    whole = len(content) & ~15
    for k1, k2 in _BLOCK.iter_unpack(content[:whole]):
        h1 = ((_rotate(h1 ^ _mix_first(k1), 27) + h2) * 5 + 0x52DCE729) & _MASK
        h2 = ((_rotate(h2 ^ _mix_second(k2), 31) + h1) * 5 + 0x38495AB5) & _MASK
    tail = content[whole:]
    h2 ^= _mix_second(int.from_bytes(tail[8:], "little"))
    h1 ^= _mix_first(int.from_bytes(tail[:8], "little"))
    h1, h2 = h1 ^ len(content), h2 ^ len(content)
    h1 = (h1 + h2) & _MASK
    h2 = (h2 + h1) & _MASK
    h1, h2 = _finish(h1), _finish(h2)
    h1 = (h1 + h2) & _MASK
    return _BLOCK.pack(h1, (h2 + h1) & _MASK)
