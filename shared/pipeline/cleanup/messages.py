"""Sweep messages: which tombstones and expired entries to look at later, many in one message of the Storage queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import orjson

from shared.entries.projection.generations import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# The queue takes 64 KiB of Base64, which is 48 KiB of text.
MESSAGE_BYTES_MAX: Final = 48 * 1024 - 64
_TOMBSTONE_FIELDS: Final = 5


class Tombstone(NamedTuple):
    """A tombstone that was written: its place, entry key and version."""

    place: Place
    entry_key: str
    version: str


class Expired(NamedTuple):
    """An expired entry: its place, entry key and version, and the key of the ledger row that may still list it."""

    place: Place
    entry_key: str
    version: str
    generation: str
    ledger_partition: str
    fact_key: str


class SweepQueue(Protocol):
    """Where sweep messages wait until no late request can land any more."""

    async def send(self, message: str) -> None:
        """Store a message; it becomes visible after the sweep delay."""


def to_messages(swept: Iterable[Tombstone | Expired]) -> Iterator[str]:
    """Messages that name these tombstones and expired entries."""
    pieces: list[bytes] = []
    size = 2
    for place, *rest in swept:
        piece = orjson.dumps([*place, *rest])
        if size + len(piece) + 1 > MESSAGE_BYTES_MAX and pieces:
            yield _message(pieces)
            pieces, size = [], 2
        pieces.append(piece)
        size += len(piece) + 1
    if pieces:
        yield _message(pieces)


def _message(pieces: Sequence[bytes]) -> str:
    return (b"[" + b",".join(pieces) + b"]").decode()


def from_message(message: str | bytes) -> tuple[Tombstone | Expired, ...]:
    """The tombstones and expired entries that a message names."""
    return tuple(map(_read, orjson.loads(message)))


def _read(fields: list[str]) -> Tombstone | Expired:
    place = Place(*fields[:3])
    if len(fields) == _TOMBSTONE_FIELDS:
        return Tombstone(place, *fields[3:])
    return Expired(place, *fields[3:])
