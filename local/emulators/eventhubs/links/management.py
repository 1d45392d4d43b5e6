"""`$management`: what clients may ask about hubs and partitions."""

from __future__ import annotations

import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from local.emulators.eventhubs.amqp.errors import (
    ARGUMENT_OUT_OF_RANGE,
    NOT_IMPLEMENTED,
    UNAUTHORIZED_ACCESS,
    EntityNotFoundError,
    LinkError,
)
from local.emulators.eventhubs.amqp.types import Array, Int, Symbol, Timestamp
from local.emulators.eventhubs.tokens import TokenRefusedError

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
    condition: str | None = None

    @property
    def properties(self) -> dict[str, object]:
        """The application properties of the message that answers."""
        status = {"status-code": Int(self.status), "status-description": self.description}
        return {**status, "error-condition": Symbol(self.condition)} if self.condition else status


def answer(request: Request, namespace: Namespace, grants: Collection[Grant]) -> Reply:
    """Answer a READ of a hub or of a partition; a token in the request counts in place of those put to `$cbs`."""
    kind = request.text("type")
    if request.text("operation") != "READ" or kind not in (HUB_TYPE, PARTITION_TYPE):
        description = f"Only READ of {HUB_TYPE} and {PARTITION_TYPE} is known."
        return Reply(HTTPStatus.BAD_REQUEST, description, condition=NOT_IMPLEMENTED)
    token = request.text("security_token")
    try:
        grants = [namespace.key.grant(token, time.time())] if token else grants
        hub = namespace.open_hub(request.text("name"), grants)
    except TokenRefusedError as error:
        return Reply(HTTPStatus.UNAUTHORIZED, str(error), condition=UNAUTHORIZED_ACCESS)
    except LinkError as error:
        status = HTTPStatus.NOT_FOUND if isinstance(error, EntityNotFoundError) else HTTPStatus.UNAUTHORIZED
        return Reply(status, error.description, condition=error.condition)
    if kind == HUB_TYPE:
        return Reply(HTTPStatus.OK, "OK", _described_hub(hub))
    number = request.text("partition")
    partition = hub.partition(number)
    if partition is None:
        return Reply(HTTPStatus.BAD_REQUEST, no_such_partition(hub, number), condition=ARGUMENT_OUT_OF_RANGE)
    return Reply(HTTPStatus.OK, "OK", _described_partition(hub, partition))


def no_such_partition(hub: Hub, number: str) -> str:
    """What a client is told of a partition that is not there; its first sentence is Azure's, which tests look for."""
    return (
        "The specified partition is invalid for an EventHub partition sender or receiver. "
        f"Hub {hub.name} has no partition {number}: it has 0 to {len(hub.partitions) - 1}."
    )


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
