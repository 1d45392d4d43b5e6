"""Event Hubs triggers: one function per source with a hub, registered from the definitions.

Bodies are bytes. Otherwise Azure's host parses them as JSON, and a body that is no JSON fails there instead of becoming
a dead letter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, List, cast  # noqa: UP035 - the runtime compares annotations with typing.List

import azure.functions as func

from functions.retries import retried_for_ever
from shared.app.app import app
from shared.app.settings import EVENTHUB
from shared.sources.hub_events import EVENT_CONSUMER_GROUP

if TYPE_CHECKING:
    from datetime import datetime

    from shared.definitions.model import Definitions
    from shared.entries.changes.received_event import ReceivedEvent


def events(definitions: Definitions) -> func.Blueprint:
    """A trigger for every hub that the definitions name."""
    blueprint = func.Blueprint()  # type: ignore[no-untyped-call]  # the SDK leaves it unannotated
    for source in definitions.sources.values():
        if source.event_hub is not None:
            _register(blueprint, source.name, source.event_hub)
    return blueprint


def _register(blueprint: func.Blueprint, source: str, hub: str) -> None:
    async def on_events(events: List[func.EventHubEvent]) -> None:  # noqa: UP006 - as above
        worker = (await app().parts_for_batch()).worker
        await worker.apply_events(source, [_received(event) for event in events])

    function = retried_for_ever(blueprint, f"events-{source}", on_events)
    blueprint.event_hub_message_trigger(
        arg_name="events",
        connection=EVENTHUB.name,
        event_hub_name=hub,
        consumer_group=EVENT_CONSUMER_GROUP,
        cardinality=func.Cardinality.MANY,
        data_type=func.DataType.BINARY,
    )(function)


def _received(event: func.EventHubEvent) -> ReceivedEvent:
    from shared.entries.changes.received_event import ReceivedEvent  # needed at the first event, not at the start

    # Both are optional only for events that a function sends; an event that a hub delivers has both.
    return ReceivedEvent(event.get_body(), cast("datetime", event.enqueued_time), cast("int", event.sequence_number))
