"""Sweep messages: which tombstones, expired entries and contributions that are gone to look at later.

Many are in one message of the Storage queue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

import orjson

from shared.entries.projection.generations import Place, place_of
from shared.pipeline.summaries.sweeping import GoneContribution

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shared.pipeline.entry_writes.writes import EarlyRemoval, GenerationWrites

# The queue takes 64 KiB of Base64, which is 48 KiB of text.
MESSAGE_BYTES_MAX: Final = 48 * 1024 - 64
_TOMBSTONE_FIELDS: Final = 5
_GONE_FIELDS: Final = 6


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


Swept: TypeAlias = Tombstone | Expired | GoneContribution


def tombstones_of(all_writes: Iterable[tuple[str, GenerationWrites | EarlyRemoval]]) -> Iterator[Tombstone]:
    """The tombstones among the writes of these facts."""
    for _, writes in all_writes:
        for removal in writes.removed:
            yield Tombstone(place_of(writes.generation, removal.partition), removal.entry_key, writes.version)


class SweepQueue(Protocol):
    """Where sweep messages wait until no late request can land any more."""

    async def send(self, message: str) -> None:
        """Store a message; it becomes visible after the sweep delay."""


def to_messages(swept: Iterable[Swept]) -> Iterator[str]:
    """Messages that name all of these."""
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


def from_message(message: str | bytes) -> tuple[Swept, ...]:
    """What a message names."""
    return tuple(map(_read, orjson.loads(message)))


def _read(fields: list[str]) -> Swept:
    place = Place(*fields[:3])
    if len(fields) == _TOMBSTONE_FIELDS:
        return Tombstone(place, *fields[3:])
    if len(fields) == _GONE_FIELDS:
        return GoneContribution(place, *fields[3:])
    return Expired(place, *fields[3:])
