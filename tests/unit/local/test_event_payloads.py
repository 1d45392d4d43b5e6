"""Events as the local host gives them to a function."""

from __future__ import annotations

from typing import Any

import pytest
from azure.eventhub import EventData
from azure.eventhub._pyamqp.message import Message
from azure.eventhub.aio import PartitionContext

from local.host.triggers.event_payloads import event_batch


@pytest.mark.parametrize("sections", [{"data": [None]}, {"value": None, "data": None}, {"data": [b""]}])
def test_an_event_without_a_body_is_empty(sections: dict[str, Any]) -> None:
    """@azure/event-hubs sends null for a body that is undefined; that must not hold up the partition."""
    event = EventData._from_message(Message(**sections))
    batch = event_batch(PartitionContext("127.0.0.1:5672", "orders", "$Default", "0"), [event])
    assert batch.value.collection_bytes.bytes == [b""]
