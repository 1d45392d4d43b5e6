"""What the host sends to the runtime for each kind of trigger, value for value as in production."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from local.host import messages
from local.host.runtime import Invocation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from azure.storage.queue import QueueMessage


def as_json(value: object) -> messages.TypedData:
    """A value that has no simpler form on the wire."""
    return messages.TypedData(json=json.dumps(value, separators=(",", ":")))


def http(
    method: str,
    url: str,
    route_values: Mapping[str, str],
    query: Mapping[str, str],
    headers: Mapping[str, str],
    body: bytes,
) -> Invocation:
    """An HTTP request; `query` already has the host's form (no empty values, repeats joined)."""
    request = messages.RpcHttp(
        method=method,
        url=url,
        params=dict(route_values),
        query=dict(query),
        headers={name.lower(): value for name, value in headers.items()},
        body=messages.TypedData(bytes=body),
    )
    metadata = {
        "Query": as_json(dict(query)),
        "Headers": as_json(dict(headers)),
        **{name: messages.TypedData(string=value) for name, value in route_values.items()},
    }
    return Invocation(messages.TypedData(http=request), metadata)


def timer(last: datetime, next_due: datetime, now: datetime, *, is_past_due: bool) -> Invocation:
    """A tick of a timer."""
    value = {
        "Schedule": {"AdjustForDST": True},
        "ScheduleStatus": {
            "Last": last.isoformat(),
            "LastUpdated": last.isoformat(),
            "Next": next_due.isoformat(),
        },
        "IsPastDue": is_past_due,
    }
    metadata = {"TimerTrigger": messages.TypedData(string=now.strftime("%m/%d/%Y %H:%M:%S"))}
    return Invocation(as_json(value), metadata)


def queue(message: QueueMessage, content: str) -> Invocation:
    """A queue message whose text, decoded, is `content`."""
    metadata: dict[str, messages.TypedData] = {
        "QueueTrigger": messages.TypedData(string=content),
        "Id": messages.TypedData(string=message.id),
        "PopReceipt": messages.TypedData(string=message.pop_receipt),
        "DequeueCount": as_json(message.dequeue_count),
        "ExpirationTime": _instant(message.expires_on),
        "InsertionTime": _instant(message.inserted_on),
        "NextVisibleTime": _instant(message.next_visible_on),
    }
    return Invocation(messages.TypedData(string=content), _overridden(metadata, content))


def _overridden(metadata: dict[str, messages.TypedData], content: str) -> dict[str, messages.TypedData]:
    """Trigger metadata under the properties of a JSON message: the host lets these win, whatever their case.

    Objects stay JSON, arrays and nulls are passed over, and everything else becomes text.
    """
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError):  # the second one for thousands of brackets
        return metadata
    spelling = {name.lower(): name for name in metadata}
    for name, value in parsed.items() if isinstance(parsed, dict) else ():
        if value is not None and not isinstance(value, list):
            known_name = spelling.setdefault(name.lower(), name)
            is_object = isinstance(value, dict)
            metadata[known_name] = as_json(value) if is_object else messages.TypedData(string=str(value))
    return metadata


def _instant(value: Any) -> messages.TypedData:
    return as_json(value.isoformat() if value is not None else None)
