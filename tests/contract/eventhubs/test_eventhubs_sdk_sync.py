"""The local Event Hubs as the synchronous azure-eventhub sees it; runs unchanged against a real namespace."""

from __future__ import annotations

import datetime as dt
import time
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from azure.eventhub import EventData, EventHubProducerClient
from azure.eventhub.exceptions import AuthenticationError, ConnectError, EventHubError

from tests.contract.eventhubs.clients import RECEIVE_SECONDS, Received, receiving, tails
from tests.contract.eventhubs.conftest import PARTITION_COUNT, SECOND_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.contract.eventhubs.conftest import HubUnderTest
    from tests.contract.eventhubs.server import LocalEventHubs

# The sync SDK hands events over when its socket was silent for 0.2 s, or after 300 of them.
SEND_SECONDS = 0.3
PARTITIONS = [str(number) for number in range(PARTITION_COUNT)]


@pytest.fixture(scope="module")
def producer(hub: HubUnderTest) -> Iterator[EventHubProducerClient]:
    """One producer for all tests: each partition's link takes more than a second to open."""
    with EventHubProducerClient.from_connection_string(
        hub.connection_string, eventhub_name=hub.name, retry_total=0
    ) as producer:
        yield producer


def receive(hub: HubUnderTest, count: int, **options: Any) -> Received:
    """Receive `count` events."""
    with receiving(hub, **options) as received:
        assert received.wait(lambda r: len(r.events) >= count or bool(r.errors))
        assert not received.errors
        return received  # type: ignore[no-any-return]  # contextmanager of Any


def send_until(producer: EventHubProducerClient, partition: str, body: str, enough: Callable[[], bool]) -> None:
    """Send again and again until `enough`: nothing says when a consumer has begun to listen."""
    deadline = time.monotonic() + RECEIVE_SECONDS
    while not enough():
        assert time.monotonic() < deadline
        producer.send_batch([EventData(body)], partition_id=partition)
        time.sleep(SEND_SECONDS)


def test_a_hub_describes_itself(hub: HubUnderTest, producer: EventHubProducerClient) -> None:
    """Name, creation time and partitions."""
    properties = producer.get_eventhub_properties()
    assert properties["eventhub_name"] == hub.name
    assert properties["partition_ids"] == PARTITIONS
    assert properties["created_at"] <= dt.datetime.now(dt.UTC) + dt.timedelta(minutes=1)


def test_a_partition_describes_its_tail(producer: EventHubProducerClient) -> None:
    """After a send, the last sequence number has grown by the events sent, and the offset and time with it."""
    before = producer.get_partition_properties("3")
    producer.send_batch([EventData("a"), EventData("b")], partition_id="3")
    after = producer.get_partition_properties("3")
    assert after["last_enqueued_sequence_number"] == before["last_enqueued_sequence_number"] + 2
    assert int(after["last_enqueued_offset"]) > int(before["last_enqueued_offset"])
    assert after["last_enqueued_time_utc"] >= before["last_enqueued_time_utc"]
    assert after["is_empty"] is False


def test_an_event_arrives_with_everything_it_was_sent_with(hub: HubUnderTest, producer: EventHubProducerClient) -> None:
    """Body, application properties of every type, ids, content type and partition key."""
    start = tails(producer, PARTITIONS)
    event = EventData(b'{"i": 1}')
    event.properties = {"text": "é", "number": 7, "real": 1.5, "yes": True, "octets": b"\x00"}
    event.correlation_id, event.message_id, event.content_type = "correlation", "message", "application/json"
    batch = producer.create_batch(partition_key="tenant-1")
    batch.add(event)
    producer.send_batch(batch)
    received = receive(hub, 1, starting_position=start, track_last_enqueued_event_properties=True)
    ((_, arrived),) = received.events
    assert arrived.body_as_str() == '{"i": 1}'
    assert arrived.properties == {
        b"text": "é".encode(), b"number": 7, b"real": 1.5, b"yes": True, b"octets": b"\x00"
    }  # fmt: skip
    ids = (arrived.correlation_id, arrived.message_id, arrived.content_type)
    assert ids == ("correlation", "message", "application/json")
    assert arrived.partition_key == b"tenant-1"
    assert arrived.enqueued_time is not None
    tail = received.contexts[0].last_enqueued_event_properties
    assert (tail["sequence_number"], tail["offset"]) == (arrived.sequence_number, arrived.offset)


def test_events_with_one_key_go_to_one_partition_in_order(hub: HubUnderTest, producer: EventHubProducerClient) -> None:
    """Batches and single events with the same key meet in the same partition."""
    start = tails(producer, PARTITIONS)
    key = str(uuid.uuid4())
    for number in range(3):
        producer.send_batch([EventData(f"{number}")], partition_key=key)
    producer.send_event(EventData("3"), partition_key=key)
    received = receive(hub, 4, starting_position=start)
    assert received.bodies == ["0", "1", "2", "3"]
    assert len({partition for partition, _ in received.events}) == 1


def test_events_without_a_key_are_spread_over_all_partitions(
    hub: HubUnderTest, producer: EventHubProducerClient
) -> None:
    """Each send goes to the next partition."""
    start = tails(producer, PARTITIONS)
    for number in range(PARTITION_COUNT):
        producer.send_batch([EventData(f"{number}")])
    received = receive(hub, PARTITION_COUNT, starting_position=start)
    assert sorted(partition for partition, _ in received.events) == PARTITIONS


def test_large_events_arrive_whole(hub: HubUnderTest, producer: EventHubProducerClient) -> None:
    """Bodies of 200 kB, which take several frames each way."""
    start = tails(producer, ["0"])
    bodies = [f"{number}" * 200_000 for number in range(4)]
    producer.send_batch([EventData(body) for body in bodies], partition_id="0")
    received = receive(hub, 4, partition_id="0", starting_position=start["0"])
    assert received.bodies == bodies


def test_a_batch_is_limited_to_one_mebibyte(producer: EventHubProducerClient) -> None:
    """The link tells the client its limit."""
    batch = producer.create_batch()
    assert batch.max_size_in_bytes == 1024 * 1024
    batch.add(EventData(bytes(1_000_000)))
    with pytest.raises(ValueError, match="size limit"):
        batch.add(EventData(bytes(100_000)))


@pytest.fixture(scope="module")
def five_events(hub: HubUnderTest, producer: EventHubProducerClient) -> list[EventData]:
    """Five events at the end of partition 1, as they are received."""
    start = tails(producer, ["1"])
    for number in range(5):
        producer.send_batch([EventData(f"p{number}")], partition_id="1")
    return [event for _, event in receive(hub, 5, partition_id="1", starting_position=start["1"]).events]


@pytest.mark.parametrize(
    ("field", "inclusive", "expected"),
    [
        ("offset", False, ["p3", "p4"]),
        ("offset", True, ["p2", "p3", "p4"]),
        ("sequence_number", False, ["p3", "p4"]),
        ("sequence_number", True, ["p2", "p3", "p4"]),
        ("enqueued_time", True, ["p2", "p3", "p4"]),
    ],
)
def test_reading_starts_at_any_event(
    hub: HubUnderTest, five_events: list[EventData], field: str, inclusive: bool, expected: list[str]
) -> None:
    """By offset, sequence number or enqueued time of the third event."""
    position = getattr(five_events[2], field)
    received = receive(
        hub, len(expected), partition_id="1", starting_position=position, starting_position_inclusive=inclusive
    )
    assert received.bodies[-len(expected) :] == expected


def test_reading_starts_at_the_beginning(hub: HubUnderTest, five_events: list[EventData]) -> None:
    """-1 is the oldest event that is kept."""
    received = receive(hub, 5, partition_id="1", starting_position="-1")
    assert (received.events[0][1].sequence_number or 0) <= (five_events[0].sequence_number or 0)


@pytest.mark.parametrize("position", ["@latest", dt.datetime.now(dt.UTC) + dt.timedelta(days=1)])
def test_reading_at_the_end_waits_for_new_events(
    hub: HubUnderTest, producer: EventHubProducerClient, five_events: list[EventData], position: Any
) -> None:
    """@latest, and a time that has not come, give nothing that is there already."""
    with receiving(hub, partition_id="1", starting_position=position) as received:
        send_until(producer, "1", "new", lambda: bool(received.events or received.errors))
        assert not received.errors
        assert set(received.bodies) == {"new"}


def test_two_consumer_groups_read_the_same_events(hub: HubUnderTest, five_events: list[EventData]) -> None:
    """Each group sees every event."""
    position = five_events[0].sequence_number
    received = receive(
        hub, 5, partition_id="1", group=SECOND_GROUP, starting_position=position, starting_position_inclusive=True
    )
    assert received.bodies[:5] == [f"p{number}" for number in range(5)]


def test_a_higher_owner_level_takes_the_partition(hub: HubUnderTest, producer: EventHubProducerClient) -> None:
    """The first consumer is told that its link was stolen; the second one receives."""
    with receiving(hub, partition_id="2", owner_level=1, starting_position="@latest") as first:
        send_until(producer, "2", "first", lambda: bool(first.events or first.errors))
        with receiving(hub, partition_id="2", owner_level=2, starting_position="@latest") as second:
            assert first.wait(lambda r: bool(r.errors))
            assert "amqp:link:stolen" in str(first.errors[0])
            send_until(producer, "2", "second", lambda: bool(second.events or second.errors))
            assert not second.errors


def test_an_unknown_consumer_group_is_reported(hub: HubUnderTest) -> None:
    """The error has the condition amqp:not-found."""
    with receiving(hub, partition_id="0", group="nope", starting_position="-1") as received:
        assert received.wait(lambda r: bool(r.errors))
        assert "amqp:not-found" in str(received.errors[0])


def test_an_unknown_hub_is_reported(hub: HubUnderTest) -> None:
    """Management and sending fail with the SDK's own errors."""
    client = EventHubProducerClient.from_connection_string(hub.connection_string, eventhub_name="nope", retry_total=0)
    with client:
        with pytest.raises(ConnectError):
            client.get_eventhub_properties()
        with pytest.raises(EventHubError, match="amqp:not-found"):
            client.send_batch([EventData("x")])


def test_a_wrong_key_is_an_authentication_error(hub: HubUnderTest, local_hubs: LocalEventHubs) -> None:
    """The SDK maps the 401 of `$cbs`."""
    assert local_hubs.connection_string == hub.connection_string
    wrong = hub.connection_string.replace("SAS_KEY_VALUE", "wrong")
    with (
        EventHubProducerClient.from_connection_string(wrong, eventhub_name=hub.name, retry_total=0) as client,
        pytest.raises(AuthenticationError),
    ):
        client.get_eventhub_properties()
