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
    return _encode(struct.pack(">IIQ", database, container | _CONTAINER_BIT, serial))


def range_rid(database: int, container: int, partition_range: int) -> str:
    """The rid of a partition key range; 0x50 in the lowest byte is how the service marks its kind."""
    return _encode(
        struct.pack(">II", database, container | _CONTAINER_BIT) + struct.pack("<Q", partition_range << 8 | 0x50)
    )


def container_number(rid: str) -> int:
    """The number of the container that a rid names."""
    return _words(rid, ">II")[1] & ~_CONTAINER_BIT


def item_serial(rid: str) -> int:
    """The serial number of the item that a rid names."""
    return _words(rid, ">IIQ")[2]


def _words(rid: str, layout: str) -> tuple[int, ...]:
    try:
        raw = base64.b64decode(rid.replace("-", "/"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadRequestError(f"{rid!r} is not a resource id.") from error
    if len(raw) != struct.calcsize(layout):
        raise BadRequestError(f"{rid!r} is not a resource id of this kind.")
    return struct.unpack(layout, raw)
