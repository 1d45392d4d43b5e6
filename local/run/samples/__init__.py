"""Facts made for this project, to look things up in: customers and movies, and orders that arrive as events."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azure.cosmos.aio import CosmosClient

from shared.app.app import app
from shared.app.connection_settings import EventHubsConnection
from shared.sources.sending import FactEvents, OutgoingEvent, has_events, send
from shared.sources.upload import upload

if TYPE_CHECKING:
    from shared.definitions.model import Definitions, Source

HERE = Path(__file__).parent


def facts(source: str) -> list[dict[str, Any]]:
    """The sample facts of a source; none when there are none for it."""
    path = HERE / f"{source}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


async def load_samples(endpoint: str, key: str, definitions: Definitions) -> int:
    """Fill every empty container that there are samples for; says how many facts were written."""
    count = 0
    async with CosmosClient(endpoint, key) as client:
        for source in definitions.sources.values():
            if source.cosmos is None or not (samples := facts(source.name)):
                continue
            database = client.get_database_client(source.cosmos.database)
            container = database.get_container_client(source.cosmos.container)
            if not [item async for item in container.query_items("SELECT TOP 1 c.id FROM c")]:
                await upload(container, samples)
                count += len(samples)
    return count


async def send_samples(connection: str, definitions: Definitions) -> int:
    """Send to every hub without a container that there are samples for, once; says how many facts were sent."""
    count = 0
    open_hub = partial(app().connections.event_hub_producer, EventHubsConnection(connection))
    for hub in definitions.hubs():
        events = [event for source in definitions.sources_of_hub(hub) for event in _events(source)]
        if events and not await has_events(open_hub, hub):
            await send(open_hub, hub, events)
            count += len(events)
    return count


def _events(source: Source) -> list[OutgoingEvent]:
    """The sample facts of a source as events; none where facts come from a container, or events from elsewhere."""
    to_events = FactEvents(source)
    if source.cosmos is not None or not to_events.takes_facts:
        return []
    return [to_events.event(fact) for fact in facts(source.name)]
