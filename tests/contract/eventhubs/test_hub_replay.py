"""A hub is replayed by partition, page by page, up to the event that was its last when the reading began."""

from __future__ import annotations

from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING

from azure.eventhub import EventData
from azure.eventhub.aio import EventHubProducerClient

from shared.app.app import app
from shared.app.connection_settings import EventHubsConnection
from shared.definitions.model import Source
from shared.sources.hub_events import REPLAY_CONSUMER_GROUP, EventPage, HubReplay

if TYPE_CHECKING:
    from tests.contract.eventhubs.conftest import HubUnderTest

PARTITION = "3"


async def send(hub: HubUnderTest, *bodies: str) -> None:
    """Put events into the partition, one after the other."""
    async with EventHubProducerClient.from_connection_string(hub.connection_string, eventhub_name=hub.name) as producer:
        await producer.send_batch([EventData(body) for body in bodies], partition_id=PARTITION)


async def first_page(hub: HubUnderTest, page_events: int) -> EventPage:
    """Of a reader that stops there."""
    connection = EventHubsConnection(connection_string=hub.connection_string)
    replay = HubReplay(partial(app().connections.event_hub_client, connection, group=REPLAY_CONSUMER_GROUP))
    async with aclosing(replay.pages(Source("orders", event_hub=hub.name), PARTITION, None, page_events)) as pages:
        return await anext(pages)


async def test_a_reader_may_stop_after_a_page(hub: HubUnderTest) -> None:
    """As often as it likes: nothing is left open that a partition has only a few of."""
    await send(hub, *"abcde")
    for _ in range(8):
        page = await first_page(hub, 2)
    rest = await read(hub, page.continuation, 1000)
    assert rest[-1].events[-1].body == b"e"


async def read(hub: HubUnderTest, continuation: str | None, page_events: int) -> list[EventPage]:
    """Every page after a continuation."""
    connection = EventHubsConnection(connection_string=hub.connection_string)
    replay = HubReplay(partial(app().connections.event_hub_client, connection, group=REPLAY_CONSUMER_GROUP))
    source = Source("orders", event_hub=hub.name)
    assert PARTITION in await replay.partitions(source)
    return [page async for page in replay.pages(source, PARTITION, continuation, page_events)]


async def test_a_partition_is_read_in_pages_and_goes_on_after_any_of_them(hub: HubUnderTest) -> None:
    """Each event once and in its order; no page has more than were asked for; at the end there are none."""
    await send(hub, "before")
    before = await read(hub, None, 1000)
    assert before[-1].events[-1].body == b"before"
    start = before[-1].continuation
    await send(hub, *"abcde")
    pages = await read(hub, start, 2)
    assert all(1 <= len(page.events) <= 2 for page in pages)
    assert b"".join(event.body for page in pages for event in page.events) == b"abcde"
    rest = await read(hub, pages[0].continuation, 1000)
    assert b"".join(event.body for page in rest for event in page.events) == b"abcde"[len(pages[0].events) :]
    assert await read(hub, pages[-1].continuation, 2) == []
