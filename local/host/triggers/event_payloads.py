"""What the host sends to the runtime for a batch of events: the bodies, and arrays of what else is known of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from local.host import messages
from local.host.payloads import as_json
from local.host.runtime import Invocation
from local.host.triggers.checkpoints import host_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from azure.eventhub import EventData
    from azure.eventhub.aio import PartitionContext


def event_batch(partition: PartitionContext, events: Sequence[EventData]) -> Invocation:
    """A batch with cardinality many and binary bodies."""
    bodies = messages.CollectionBytes(bytes=[_body(event) for event in events])
    offsets = messages.CollectionString(string=[str(event.offset) for event in events])
    context = {
        "IsCheckpointingAfterInvocation": True,
        "FullyQualifiedNamespace": host_of(partition.fully_qualified_namespace),
        "EventHubName": partition.eventhub_name,
        "ConsumerGroup": partition.consumer_group,
        "PartitionId": partition.partition_id,
    }
    keys = [_text(event.partition_key) for event in events]
    metadata = {
        "TriggerPartitionContext": as_json(context),
        "PartitionContext": as_json(context),
        # The host drops what is null, so that this array may be shorter than the batch.
        "PartitionKeyArray": messages.TypedData(
            collection_string=messages.CollectionString(string=[key for key in keys if key])
        ),
        "OffsetArray": messages.TypedData(collection_string=offsets),
        "OffsetStringArray": messages.TypedData(collection_string=offsets),
        "SequenceNumberArray": messages.TypedData(
            collection_sint64=messages.CollectionSInt64(sint64=[event.sequence_number for event in events])
        ),
        "EnqueuedTimeUtcArray": as_json([_instant(event.enqueued_time) for event in events]),
        "PropertiesArray": as_json([_properties(event) for event in events]),
        "SystemPropertiesArray": as_json([_system_properties(event) for event in events]),
    }
    return Invocation(messages.TypedData(collection_bytes=bodies), metadata)


def _body(event: EventData) -> bytes:
    body: Any = event.body
    if body is None or isinstance(body, bytes):
        return body or b""
    return b"".join(part or b"" for part in body)  # a part may be null


def _properties(event: EventData) -> dict[str, Any]:
    return {str(_text(name)): _plain(value) for name, value in (event.properties or {}).items()}


def _system_properties(event: EventData) -> dict[str, Any]:
    return {
        "SequenceNumber": event.sequence_number,
        "Offset": str(event.offset),
        "OffsetString": str(event.offset),
        "PartitionKey": _text(event.partition_key),
        "EnqueuedTimeUtc": _instant(event.enqueued_time),
    }


def _plain(value: Any) -> Any:
    """A property as JSON has it; what JSON has no word for is text."""
    value = _text(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _text(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _instant(moment: datetime | None) -> str | None:
    """UTC without a zone: the host's value has lost it on its way."""
    if moment is None:
        return None
    fraction = f"{moment.microsecond:06d}".rstrip("0")
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + (f".{fraction}" if fraction else "")
