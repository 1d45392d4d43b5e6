"""Who may read a partition in a consumer group: one reader with the highest epoch, or up to five without one."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from local.emulators.eventhubs.amqp.errors import RESOURCE_LIMIT_EXCEEDED, STOLEN, LinkError

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_READERS_WITHOUT_EPOCH = 5


@dataclass(frozen=True, slots=True)
class Seat:
    """A partition as one consumer group reads it."""

    hub: str
    group: str
    partition: int


class SeatedReader(Protocol):
    """A consumer's link."""

    @property
    def epoch(self) -> int | None:
        """The owner level; None for a reader that shares."""

    def disconnect(self, error: LinkError) -> None:
        """Give up the link."""


class Owners:
    """The readers of every partition."""

    def __init__(self) -> None:
        self._readers: dict[Seat, set[SeatedReader]] = defaultdict(set)

    def claim(self, seat: Seat, reader: SeatedReader) -> None:
        """Seat `reader`, disconnecting those that it outranks, or refuse it.

        An equal epoch outranks too: a client that reconnects must not be locked out by its own dead link.
        """
        seated = self._readers[seat]
        highest = max((other.epoch for other in seated if other.epoch is not None), default=None)
        if reader.epoch is None:
            self._check_shared(seat, highest, len(seated))
        else:
            if highest is not None and reader.epoch < highest:
                raise LinkError(STOLEN, f"A receiver with the higher epoch {highest} reads {_named(seat)}.")
            self._disconnect(seat, f"A new receiver with epoch {reader.epoch} reads {_named(seat)}.")
        self._readers[seat].add(reader)

    @staticmethod
    def _check_shared(seat: Seat, highest: int | None, seated_count: int) -> None:
        if highest is not None:
            raise LinkError(
                STOLEN, f"A receiver with epoch {highest} reads {_named(seat)}; one without epoch is not allowed."
            )
        if seated_count >= MAX_READERS_WITHOUT_EPOCH:
            raise LinkError(
                RESOURCE_LIMIT_EXCEEDED,
                f"{_named(seat)} has {seated_count} receivers, as many as are allowed. Close one, or use another "
                "consumer group.",
            )

    def release(self, seat: Seat, reader: SeatedReader) -> None:
        """The reader's link has ended."""
        self._readers[seat].discard(reader)

    def steal(self, seats: Iterable[Seat]) -> int:
        """Disconnect every reader of these seats, as a higher epoch would; says how many there were."""
        return sum(self._disconnect(seat, f"The fault switch took {_named(seat)}.") for seat in seats)

    def _disconnect(self, seat: Seat, reason: str) -> int:
        readers = list(self._readers[seat])
        for reader in readers:
            reader.disconnect(LinkError(STOLEN, reason))
        return len(readers)


def _named(seat: Seat) -> str:
    return f"partition {seat.partition} of hub {seat.hub} in consumer group {seat.group}"
