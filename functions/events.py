"""Event Hubs triggers: one function per hub, however many sources it feeds, registered from the definitions.

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
    for hub in definitions.hubs():
        # Named after its first source: a function of that name is what earlier deployments have.
        _register(blueprint, definitions.sources_of_hub(hub)[0].name, hub)
    return blueprint


def _register(blueprint: func.Blueprint, source: str, hub: str) -> None:
    async def on_events(events: List[func.EventHubEvent]) -> None:  # noqa: UP006 - as above
        worker = (await app().parts_for_batch()).worker
        await worker.apply_events(hub, _received(events))

    function = retried_for_ever(blueprint, f"events-{source}", on_events)
    blueprint.event_hub_message_trigger(
        arg_name="events",
        connection=EVENTHUB.name,
        event_hub_name=hub,
        consumer_group=EVENT_CONSUMER_GROUP,
        cardinality=func.Cardinality.MANY,
        data_type=func.DataType.BINARY,
    )(function)


def _received(events: list[func.EventHubEvent]) -> list[ReceivedEvent]:
    from shared.entries.changes.received_event import ReceivedEvent  # needed at the first event, not at the start

    # The metadata of every event is that of the whole batch, and is decoded anew for each one that is asked for it.
    metadata = events[0].metadata if events else None
    properties = (metadata or {}).get("PropertiesArray") or [{}] * len(events)
    # Enqueued time and sequence number are optional only for events that a function sends; a hub's have both.
    return [
        ReceivedEvent(
            event.get_body(),
            cast("datetime", event.enqueued_time),
            cast("int", event.sequence_number),
            event.partition_key,
            own or {},
        )
        for event, own in zip(events, properties, strict=True)
    ]
