"""Bytes in the columns of a row: compressed, and split over as many properties as they need."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.tables.port import Entity

_PROPERTY_BYTES: Final = 64 * 1024
# A full-size deflater takes 100 µs to set up: seven times as long as a small one needs for a usual row.
_SMALL_BYTES: Final = 4096


def compress(raw: bytes) -> bytes:
    """Compress bytes, as cheaply as their size allows."""
    if len(raw) > _SMALL_BYTES:
        deflater = zlib.compressobj(6, zlib.DEFLATED, -15)
    else:
        deflater = zlib.compressobj(1, zlib.DEFLATED, -10, 4)
    return deflater.compress(raw) + deflater.flush()


def decompress(packed: bytes) -> bytes:
    """The bytes that `compress` was given."""
    return zlib.decompress(packed, -15)


def put_bytes(entity: Entity, name: str, raw: bytes) -> None:
    """Store bytes under a name, in as many properties as they need: `name`, `name1`, `name2` and so on."""
    for number, start in enumerate(range(0, len(raw), _PROPERTY_BYTES)):
        entity[f"{name}{number or ''}"] = raw[start : start + _PROPERTY_BYTES]


def take_bytes(entity: Mapping[str, Any], name: str) -> bytes:
    """The bytes that `put_bytes` stored; empty when there are none."""
    pieces: list[bytes] = []
    while isinstance(piece := entity.get(f"{name}{len(pieces) or ''}"), bytes):
        pieces.append(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
