"""Partition keys: reading them from headers and documents, and hashing them as the service does (version 2).

A value is a string, number, boolean, null or, where a document has none, `{}` (the wire's way to say
undefined). The clients compute the hash too, to choose ranges; both must agree on every value.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson

from local.emulators.cosmos.data.murmur import murmur128
from local.emulators.cosmos.errors import PARTITION_KEY_MISMATCH, BadRequestError

if TYPE_CHECKING:
    from collections.abc import Iterable

HASH = "Hash"
MULTI_HASH = "MultiHash"
MAX_LEVELS = 3
# A step of a path is a word, or any text in quotes.
_PATH_STEP = re.compile(r"""/(?:"([^"]+)"|'([^']+)'|(\w+))""")
_PATH = re.compile(f"(?:{_PATH_STEP.pattern})+")
# The service's limit for the values of one key with large partition keys (version 2).
MAX_KEY_BYTES = 2048


@dataclass(frozen=True, slots=True)
class PartitionKeyDefinition:
    """Where a container's documents carry their partition key."""

    paths: tuple[tuple[str, ...], ...]
    kind: str

    @classmethod
    def parse(cls, spec: Any) -> PartitionKeyDefinition:
        """The definition in a container's `partitionKey`; refuses what the hash cannot honour."""
        if not isinstance(spec, dict) or not isinstance(spec.get("paths"), list) or not spec["paths"]:
            raise BadRequestError('partitionKey must be {"paths": ["/path"], "kind": "Hash", "version": 2}.')
        kind = spec.get("kind", HASH)
        if kind not in (HASH, MULTI_HASH):
            raise BadRequestError(f"partitionKey.kind {kind!r} is not known: use Hash or MultiHash.")
        if spec.get("version", 2) != 2:
            raise BadRequestError("The local Cosmos DB hashes partition keys with version 2 only.")
        most = 1 if kind == HASH else MAX_LEVELS
        if len(spec["paths"]) > most:
            raise BadRequestError(f"A {kind} partition key has at most {most} path(s).")
        paths = tuple(_split_path(path) for path in spec["paths"])
        if len(set(paths)) < len(paths):
            raise BadRequestError("partitionKey.paths has one path twice.")
        return cls(paths, kind)

    def of_document(self, document: dict[str, Any]) -> PartitionKey:
        """The key that `document` itself carries."""
        return PartitionKey.of((_component(_at(document, path)) for path in self.paths), self.kind)

    def of_header(self, text: str) -> PartitionKey:
        """The key in a request's partition key header; with several levels it may be a prefix."""
        try:
            values = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise BadRequestError(f"The partition key header is not JSON: {error}.") from error
        if not isinstance(values, list) or not 0 < len(values) <= len(self.paths):
            raise BadRequestError(
                f"The partition key header must be a JSON array of 1 to {len(self.paths)} values.",
                PARTITION_KEY_MISMATCH,
            )
        return PartitionKey.of(map(_component, values), self.kind)

    def is_whole(self, key: PartitionKey) -> bool:
        """Whether `key` has a value for every path."""
        return len(key.values) == len(self.paths)

    def names(self, key: PartitionKey) -> dict[str, Any]:
        """The key's values by path, as the all-versions feed shows a deleted document's key."""
        return {".".join(path): value for path, value in zip(self.paths, key.values, strict=True)}


@dataclass(frozen=True, slots=True, eq=False)
class PartitionKey:
    """The values of one key, in the order of the container's paths.

    `text` is one spelling per key, for storing and comparing: 1 and 1.0 are one value, 1 and true are two.
    """

    values: tuple[Any, ...]
    kind: str
    text: str

    @classmethod
    def of(cls, values: Iterable[Any], kind: str) -> PartitionKey:
        components = tuple(values)
        encoded = orjson.dumps(components)
        # The values alone count, not what JSON puts around and into them.
        if len(encoded) > MAX_KEY_BYTES and sum(map(_bytes, components)) > MAX_KEY_BYTES:
            raise BadRequestError(f"The partition key is longer than {MAX_KEY_BYTES} bytes: shorten it.")
        return cls(components, kind, encoded.decode())

    @property
    def effective(self) -> str:
        """The hash, in hexadecimal, that decides the range; of a prefix: what its keys begin with."""
        encoded = [_encode(value) for value in self.values]
        if self.kind == MULTI_HASH:
            return "".join(_hash(part) for part in encoded)
        return _hash(b"".join(encoded))


def _split_path(path: Any) -> tuple[str, ...]:
    if not isinstance(path, str) or not _PATH.fullmatch(path):
        raise BadRequestError(
            f"The partition key component definition path '{path}' could not be accepted. Partition key paths must "
            "contain only valid characters and not contain a trailing slash or wildcard character: write /name, "
            '/outer/inner or /"any name".'
        )
    return tuple("".join(spellings) for spellings in _PATH_STEP.findall(path))


def _at(document: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if not isinstance(document, dict):
            return {}
        document = document.get(name, {})
    return document


def _component(value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if value is None or isinstance(value, (str, bool)) or value == {}:
        return value
    raise BadRequestError(
        "A partition key value must be a string, number, boolean or null, not an object or array.",
        PARTITION_KEY_MISMATCH,
    )


def _bytes(value: Any) -> int:
    return len(value.encode()) if isinstance(value, str) else len(orjson.dumps(value))


def _encode(value: Any) -> bytes:
    if isinstance(value, str):
        return b"\x08" + value.encode() + b"\xff"
    if isinstance(value, float):
        return b"\x05" + struct.pack("<d", value)
    if isinstance(value, bool):
        return b"\x03" if value else b"\x02"
    return b"\x01" if value is None else b"\x00"


# Hashing costs some 20 microseconds in Python and applications write the same keys again and again.
@lru_cache(maxsize=65536)
def _hash(encoded: bytes) -> str:
    digest = bytearray(reversed(murmur128(encoded)))
    digest[0] &= 0x3F  # the two highest bits stay free: "FF" is above every hash
    return digest.hex().upper()
