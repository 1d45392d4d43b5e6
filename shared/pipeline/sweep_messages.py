"""Sweep messages: which tombstones to look at later, many in one message of the Storage queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import orjson

from shared.pipeline.storage import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# The queue takes 64 KiB of base64, which is 48 KiB of ours.
MESSAGE_BYTES_MAX: Final = 48 * 1024 - 64


class Tombstone(NamedTuple):
    """A tombstone that was written: its place, pair and version."""

    place: Place
    pair: str
    version: str


class SweepQueue(Protocol):
    """Where sweep messages wait until no late request can come any more."""

    async def send(self, message: str) -> None:
        """Keep a message; it becomes visible after the sweep delay."""


def pack(tombstones: Iterable[Tombstone]) -> Iterator[str]:
    """Messages that name these tombstones."""
    pieces: list[bytes] = []
    size = 2
    for tombstone in tombstones:
        piece = orjson.dumps([*tombstone.place, tombstone.pair, tombstone.version])
        if size + len(piece) + 1 > MESSAGE_BYTES_MAX and pieces:
            yield _message(pieces)
            pieces, size = [], 2
        pieces.append(piece)
        size += len(piece) + 1
    if pieces:
        yield _message(pieces)


def _message(pieces: Sequence[bytes]) -> str:
    return (b"[" + b",".join(pieces) + b"]").decode()


def unpack(message: str | bytes) -> tuple[Tombstone, ...]:
    """The tombstones that a message names."""
    return tuple(
        Tombstone(Place(account, table, partition), pair, version)
        for account, table, partition, pair, version in orjson.loads(message)
    )
