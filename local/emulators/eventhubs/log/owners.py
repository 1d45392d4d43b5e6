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
class GroupPartition:
    """A partition as one consumer group reads it."""

    hub: str
    group: str
    number: int


class GroupReader(Protocol):
    """A consumer's link."""

    @property
    def epoch(self) -> int | None:
        """The owner level; None for a reader that shares."""

    def disconnect(self, error: LinkError) -> None:
        """Give up the link."""


class Owners:
    """The readers of every partition."""

    def __init__(self) -> None:
        self._readers: dict[GroupPartition, set[GroupReader]] = defaultdict(set)

    def claim(self, partition: GroupPartition, reader: GroupReader) -> None:
        """Let `reader` read, disconnecting those that it outranks, or refuse it.

        An equal epoch outranks too: a client that reconnects must not be locked out by its own dead link.
        """
        readers = self._readers[partition]
        highest = max((other.epoch for other in readers if other.epoch is not None), default=None)
        if reader.epoch is None:
            self._check_shared(partition, highest, len(readers))
        else:
            if highest is not None and reader.epoch < highest:
                raise LinkError(STOLEN, f"A receiver with the higher epoch {highest} reads {_named(partition)}.")
            self._disconnect(partition, f"A new receiver with epoch {reader.epoch} reads {_named(partition)}.")
        self._readers[partition].add(reader)

    @staticmethod
    def _check_shared(partition: GroupPartition, highest: int | None, reader_count: int) -> None:
        if highest is not None:
            raise LinkError(
                STOLEN, f"A receiver with epoch {highest} reads {_named(partition)}; one without epoch is not allowed."
            )
        if reader_count >= MAX_READERS_WITHOUT_EPOCH:
            raise LinkError(
                RESOURCE_LIMIT_EXCEEDED,
                f"{_named(partition)} has {reader_count} receivers, as many as are allowed. Close one, or use another "
                "consumer group.",
            )

    def release(self, partition: GroupPartition, reader: GroupReader) -> None:
        """The reader's link has ended."""
        self._readers[partition].discard(reader)

    def steal(self, partitions: Iterable[GroupPartition]) -> int:
        """Disconnect every reader of these partitions, as a higher epoch would; return how many there were."""
        return sum(
            self._disconnect(partition, f"The fault switch took {_named(partition)}.") for partition in partitions
        )

    def _disconnect(self, partition: GroupPartition, reason: str) -> int:
        readers = list(self._readers[partition])
        for reader in readers:
            reader.disconnect(LinkError(STOLEN, reason))
        return len(readers)


def _named(partition: GroupPartition) -> str:
    return f"partition {partition.number} of hub {partition.hub} in consumer group {partition.group}"
