"""The lag of a hub: what its partitions have after the checkpoints that a consumer of the real SDK writes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from azure.eventhub import EventData, EventHubProducerClient
from azure.eventhub.extensions.checkpointstoreblobaio import BlobCheckpointStore
from azure.storage.blob.aio import ContainerClient

from local.host.triggers.checkpoints import HostCheckpointStore
from shared.app.app import app
from shared.app.connection_settings import EventHubsConnection
from shared.app.connections import event_hubs_namespace
from shared.errors import FeedUnavailableError
from shared.monitoring.event_lag import EventHubLag
from shared.sources.hub_events import EVENT_CONSUMER_GROUP, EVENT_LAG_GROUP
from tests.contract.eventhubs.clients import receiving_async, until
from tests.contract.eventhubs.conftest import HubUnderTest
from tests.contract.eventhubs.server import LocalEventHubs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HUB = "parcels"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEventHubs]:
    """A namespace with the consumer groups of the app."""
    groups = ["--consumer-group", EVENT_CONSUMER_GROUP, "--consumer-group", EVENT_LAG_GROUP]
    started = LocalEventHubs(tmp_path_factory.mktemp("hubs"), ["--hub", f"{HUB}:2", *groups]).start()
    yield started
    assert started.stop() == 0


def feed_of(server: LocalEventHubs, azurite: str, container: str, group: str = EVENT_LAG_GROUP) -> EventHubLag:
    """The hub as the status asks it."""
    connection = EventHubsConnection(connection_string=server.connection_string)
    return EventHubLag(
        HUB,
        partial(event_hubs_namespace, connection),
        partial(app().connections.event_hub_client, connection, group=group),
        partial(ContainerClient.from_connection_string, azurite, container),
    )


@pytest.fixture(scope="module")
def producer(server: LocalEventHubs) -> Iterator[EventHubProducerClient]:
    """One for all: to connect takes the SDK longer than to send."""
    with EventHubProducerClient.from_connection_string(server.connection_string, eventhub_name=HUB) as producer:
        yield producer


def send(producer: EventHubProducerClient, partition: str, *bodies: str) -> None:
    """Events into one partition."""
    batch = producer.create_batch(partition_id=partition)
    for body in bodies:
        batch.add(EventData(body))
    producer.send_batch(batch)


def enqueued(producer: EventHubProducerClient, partition: str) -> float:
    """When the last event of a partition was enqueued."""
    found: float = producer.get_partition_properties(partition)["last_enqueued_time_utc"].timestamp()
    return found


async def test_events_wait_from_their_first_until_their_checkpoint(
    server: LocalEventHubs, producer: EventHubProducerClient, azurite: str, table_name: str
) -> None:
    """Empty, never read, read, behind again: while the trigger's own kind of reader has its seat."""
    feed = feed_of(server, azurite, table_name)
    assert await feed.oldest_waiting() is None
    send(producer, "0", "first")
    first = enqueued(producer, "0")
    send(producer, "0", "second")
    send(producer, "1", "third")
    assert await feed.oldest_waiting() == first
    async with ContainerClient.from_connection_string(azurite, table_name) as container:
        await container.create_container()
    hub = HubUnderTest(server.connection_string, HUB, server)
    async with HostCheckpointStore.from_connection_string(azurite, table_name) as store:
        reading = receiving_async(
            hub, store, group=EVENT_CONSUMER_GROUP, checkpoints=True, starting_position="-1", max_wait_time=0.2
        )
        async with reading as received:
            await until(lambda: len(received.events) == 3)
            assert await feed.oldest_waiting() is None
            assert not received.errors
    send(producer, "1", "fourth")
    fourth = enqueued(producer, "1")
    send(producer, "1", "fifth")
    assert await feed.oldest_waiting() == fourth


async def test_a_hub_has_moved_on_when_there_is_a_checkpoint(
    server: LocalEventHubs, azurite: str, table_name: str
) -> None:
    """What is before it does not come again."""
    feed = feed_of(server, azurite, table_name)
    assert not await feed.has_moved_on(0)
    async with ContainerClient.from_connection_string(azurite, table_name) as container:
        await container.create_container()
    connection = EventHubsConnection(connection_string=server.connection_string)
    async with BlobCheckpointStore.from_connection_string(azurite, table_name) as store:
        await store.update_checkpoint(
            {
                "fully_qualified_namespace": event_hubs_namespace(connection),
                "eventhub_name": HUB,
                "consumer_group": EVENT_CONSUMER_GROUP,
                "partition_id": "0",
                "offset": "0",
                "sequence_number": 0,
            }
        )
    assert await feed.has_moved_on(0)


async def test_without_a_seat_to_read_from_the_last_event_says_the_least_lag(
    server: LocalEventHubs, producer: EventHubProducerClient, azurite: str, table_name: str
) -> None:
    """A hub that somebody else made may lack the consumer group."""
    send(producer, "0", "one")
    send(producer, "0", "two")
    ends = [enqueued(producer, partition) for partition in ("0", "1")]
    assert await feed_of(server, azurite, table_name, group="no-such-group").oldest_waiting() in ends


async def test_a_namespace_that_does_not_answer_is_told(azurite: str, tmp_path: Path, table_name: str) -> None:
    """The lag is unknown, and why."""
    nobody = LocalEventHubs(tmp_path, [])
    with pytest.raises(FeedUnavailableError, match="cannot be read"):
        await feed_of(nobody, azurite, table_name).oldest_waiting()
