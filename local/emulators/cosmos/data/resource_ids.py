"""Resource ids ("rids") in the service's own form: 4 bytes for a database, 8 for a container, 16 for an item.

Clients keep them in continuations and derive lease names from them, so they are made from stored numbers and
last as long as what they name.
"""

from __future__ import annotations

import base64
import binascii
import struct

from local.emulators.cosmos.errors import BadRequestError

# The highest bit of the second word tells a container from other children of a database.
_CONTAINER_BIT = 0x80000000
# What is below a container is numbered with the lowest byte first. The highest four bits say its kind: 0 for an item.
_RANGE_KIND = 5 << 60


def _encode(raw: bytes) -> str:
    return base64.b64encode(raw).decode().replace("/", "-")


def database_rid(database: int) -> str:
    """The rid of the database with this number."""
    return _encode(struct.pack(">I", database))


def container_rid(database: int, container: int) -> str:
    """The rid of the container with this number."""
    return _encode(struct.pack(">II", database, container | _CONTAINER_BIT))


def item_rid(database: int, container: int, serial: int) -> str:
    """The rid of an item; `serial` is unique in its container."""
    return _encode(struct.pack(">II", database, container | _CONTAINER_BIT) + struct.pack("<Q", serial))


def range_rid(database: int, container: int, partition_range: int) -> str:
    """The rid of a partition key range."""
    return item_rid(database, container, partition_range | _RANGE_KIND)


def container_number(rid: str) -> int:
    """The number of the container that a rid names."""
    _, word = struct.unpack(">II", _raw(rid, 8))
    return int(word) & ~_CONTAINER_BIT


def item_serial(rid: str) -> int:
    """The serial number of the item that a rid names."""
    return int.from_bytes(_raw(rid, 16)[8:], "little")


def _raw(rid: str, length: int) -> bytes:
    try:
        raw = base64.b64decode(rid.replace("-", "/"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadRequestError(f"{rid!r} is not a resource id.") from error
    if len(raw) != length:
        raise BadRequestError(f"{rid!r} is not a resource id of this kind.")
    return raw
