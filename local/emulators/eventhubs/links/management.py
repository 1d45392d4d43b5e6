"""`$management`: what clients may ask about hubs and partitions."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from local.emulators.eventhubs.amqp.errors import EntityNotFoundError, LinkError
from local.emulators.eventhubs.amqp.types import Array, Int, Timestamp

if TYPE_CHECKING:
    from collections.abc import Collection

    from local.emulators.eventhubs.amqp.messages import Request
    from local.emulators.eventhubs.log.hubs import Hub, Partition
    from local.emulators.eventhubs.namespace import Namespace
    from local.emulators.eventhubs.tokens import Grant

HUB_TYPE = "com.microsoft:eventhub"
PARTITION_TYPE = "com.microsoft:partition"


@dataclass(frozen=True, slots=True)
class Reply:
    """The outcome of a request, in the words of HTTP."""

    status: int
    description: str
    value: object = None


def answer(request: Request, namespace: Namespace, grants: Collection[Grant]) -> Reply:
    """Answer a READ of a hub or of a partition."""
    kind = request.text("type")
    if request.text("operation") != "READ" or kind not in (HUB_TYPE, PARTITION_TYPE):
        return Reply(HTTPStatus.BAD_REQUEST, f"Only READ of {HUB_TYPE} and {PARTITION_TYPE} is known.")
    try:
        hub = namespace.open_hub(request.text("name"), grants)
    except EntityNotFoundError as error:
        return Reply(HTTPStatus.NOT_FOUND, error.description)
    except LinkError as error:
        return Reply(HTTPStatus.UNAUTHORIZED, error.description)
    if kind == HUB_TYPE:
        return Reply(HTTPStatus.OK, "OK", _described_hub(hub))
    partition = hub.partition(request.text("partition"))
    if partition is None:
        last = len(hub.partitions) - 1
        return Reply(HTTPStatus.BAD_REQUEST, f"Hub {hub.name} has the partitions 0 to {last}, and no other.")
    return Reply(HTTPStatus.OK, "OK", _described_partition(hub, partition))


def _described_hub(hub: Hub) -> dict[str, object]:
    return {
        "name": hub.name,
        "type": HUB_TYPE,
        "created_at": Timestamp(hub.created_ms),
        "partition_count": Int(len(hub.partitions)),
        "partition_ids": Array(str(partition.number) for partition in hub.partitions),
        "georeplication_factor": Int(1),
    }


def _described_partition(hub: Hub, partition: Partition) -> dict[str, object]:
    return {
        "name": hub.name,
        "type": PARTITION_TYPE,
        "partition": str(partition.number),
        "begin_sequence_number": partition.begin_sequence,
        "last_enqueued_sequence_number": partition.last_sequence,
        "last_enqueued_offset": str(partition.last_offset),
        "last_enqueued_time_utc": Timestamp(partition.last_enqueued_ms),
        "is_partition_empty": partition.is_empty,
    }
