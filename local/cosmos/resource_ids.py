"""Resource ids ("rids") in the service's own form: 4 bytes for a database, 8 for a container, 16 for an item.

Clients keep them in continuations and derive lease names from them, so they are made from stored numbers and
last as long as what they name.
"""

from __future__ import annotations

import base64
import binascii
import struct

from local.cosmos.errors import BadRequestError

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


def numbers_in(rid: str) -> tuple[int, ...]:
    """The numbers that a rid was made from: database, container, serial, as far as it goes."""
    try:
        raw = base64.b64decode(rid.replace("-", "/"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadRequestError(f"{rid!r} is not a resource id.") from error
    if len(raw) == 4:
        return struct.unpack(">I", raw)
    if len(raw) == 8:
        database, container = struct.unpack(">II", raw)
        return database, container & ~_CONTAINER_BIT
    if len(raw) == 16:
        database, container, serial = struct.unpack(">IIQ", raw)
        return database, container & ~_CONTAINER_BIT, serial
    raise BadRequestError(f"{rid!r} is not a resource id.")
