"""The local Event Hubs as the asynchronous azure-eventhub sees it, with checkpoints on Azurite."""

from __future__ import annotations

import asyncio
import gc
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from azure.eventhub import EventData
from azure.eventhub.aio import EventHubProducerClient
from azure.eventhub.extensions.checkpointstoreblobaio import BlobCheckpointStore
from azure.storage.blob.aio import ContainerClient

from tests.contract.eventhubs.clients import receiving_async, until
from tests.contract.eventhubs.conftest import PARTITION_COUNT, HubUnderTest
from tests.contract.eventhubs.server import LocalEventHubs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

# The SDK leaves the sockets of connections that it lost to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

ALL = {str(number) for number in range(PARTITION_COUNT)}


@pytest.fixture(autouse=True)
def collect_sockets() -> Iterator[None]:
    """Collect them here, where their warnings are expected, and not in the middle of another test."""
    yield
    gc.collect()


@pytest.fixture
async def checkpoint_store(azurite: str) -> AsyncIterator[BlobCheckpointStore]:
    """A checkpoint store with a container of its own, which every consumer of a test shares."""
    name = f"c{uuid.uuid4().hex}"
    async with ContainerClient.from_connection_string(azurite, name) as container:
        await container.create_container()
    store = BlobCheckpointStore.from_connection_string(azurite, name)
    yield store
    await store.close()


async def send(hub: HubUnderTest, bodies: list[str], per_send: int = 50) -> None:
    """Send bodies, round robin over the partitions."""
    async with EventHubProducerClient.from_connection_string(hub.connection_string, eventhub_name=hub.name) as client:
        for start in range(0, len(bodies), per_send):
            await client.send_batch([EventData(body) for body in bodies[start : start + per_send]])


def mine(received: Any, run: str) -> list[str]:
    """The bodies of one test: a real hub keeps what others have sent."""
    return [body for body in received.bodies if body.startswith(run)]


async def test_many_events_arrive_once_each_and_are_not_received_again_after_a_checkpoint(
    hub: HubUnderTest, checkpoint_store: BlobCheckpointStore
) -> None:
    """1 000 events over all partitions; a second consumer with the same store starts behind them."""
    run = uuid.uuid4().hex
    bodies = [f"{run}-{number}" for number in range(1000)]
    await send(hub, bodies)
    async with receiving_async(hub, checkpoint_store, starting_position="-1", checkpoints=True) as first:
        await until(lambda: len(mine(first, run)) >= len(bodies))
        assert sorted(mine(first, run)) == sorted(bodies)
        assert not first.errors
    async with receiving_async(hub, checkpoint_store, starting_position="-1", checkpoints=True) as second:
        await send(hub, [f"{run}-last"])
        await until(lambda: bool(mine(second, run)))
        assert mine(second, run) == [f"{run}-last"]


async def test_two_consumers_share_the_partitions_and_one_takes_over_when_the_other_leaves(
    hub: HubUnderTest, checkpoint_store: BlobCheckpointStore
) -> None:
    """Ownership moves by stolen links; every event is received, and after the hand-over by the one that stays."""
    owned: dict[str, set[str]] = {"first": set(), "second": set()}

    def options(name: str) -> dict[str, Any]:
        async def initialize(context: Any) -> None:
            owned[name].add(context.partition_id)

        async def close(context: Any, _: Any) -> None:
            owned[name].discard(context.partition_id)

        start = {"starting_position": "@latest", "checkpoints": True}
        return {**start, "on_partition_initialize": initialize, "on_partition_close": close}

    async with receiving_async(hub, checkpoint_store, **options("second")) as second:
        await until(lambda: owned["second"] == ALL)
        async with receiving_async(hub, checkpoint_store, **options("first")):
            await until(lambda: len(owned["first"]) == len(owned["second"]) == PARTITION_COUNT // 2)
            assert owned["first"] | owned["second"] == ALL
        await until(lambda: owned["second"] == ALL)
        run = uuid.uuid4().hex
        bodies = [f"{run}-{number}" for number in range(PARTITION_COUNT)]
        await send(hub, bodies, per_send=1)
        await until(lambda: sorted(mine(second, run)) == bodies)


@pytest.fixture
def own_hub(tmp_path: Path) -> Any:
    """A local server that a test may kill."""
    server = LocalEventHubs(tmp_path, ["--hub", "h:2"]).start()
    yield HubUnderTest(server.connection_string, "h", server)
    server.stop()


async def test_kill_9_of_the_server_loses_and_repeats_nothing_that_was_acknowledged(own_hub: HubUnderTest) -> None:
    """A producer and a consumer live through the death of the server: what was sent arrives, in order per key."""
    assert own_hub.local is not None
    producer = EventHubProducerClient.from_connection_string(
        own_hub.connection_string, eventhub_name="h", retry_backoff_factor=0.1, retry_total=10
    )
    async with producer, receiving_async(own_hub, starting_position="-1") as received:
        await producer.send_batch([EventData(f"{number}") for number in range(50)], partition_id="0")
        await until(lambda: len(received.events) >= 50)
        await asyncio.to_thread(own_hub.local.kill)
        await asyncio.to_thread(own_hub.local.start)
        await producer.send_batch([EventData(f"{number}") for number in range(50, 100)], partition_id="0")
        await until(lambda: len(set(received.bodies)) == 100)
    assert received.bodies == [str(number) for number in range(100)]


async def test_a_busy_server_is_tried_again(own_hub: HubUnderTest) -> None:
    """The SDK waits and sends again; the event arrives once."""
    assert own_hub.local is not None
    own_hub.local.admin("PUT", "/faults", {"serverBusySends": 1})
    async with receiving_async(own_hub, starting_position="-1") as received:
        await send(own_hub, ["once"])
        await until(lambda: received.bodies == ["once"])
    assert own_hub.local.admin("GET", "/faults")["serverBusySends"] == 0


async def test_dropped_connections_and_stolen_links_are_recovered(own_hub: HubUnderTest) -> None:
    """After each fault the consumer comes back by itself and goes on where it was."""
    assert own_hub.local is not None
    producer = EventHubProducerClient.from_connection_string(
        own_hub.connection_string, eventhub_name="h", retry_backoff_factor=0.1
    )
    async with producer, receiving_async(own_hub, starting_position="-1") as received:
        await producer.send_batch([EventData("0")], partition_id="0")
        await until(lambda: received.bodies == ["0"])
        own_hub.local.admin("POST", "/connections/drop")
        await producer.send_batch([EventData("1")], partition_id="0")
        await until(lambda: received.bodies == ["0", "1"])
        assert own_hub.local.admin("POST", "/links/steal", {"hub": "h", "partition": "0"}) == {"stolen": 1}
        await producer.send_batch([EventData("2")], partition_id="0")
        await until(lambda: len(received.bodies) >= 3)
    assert set(received.bodies) == {"0", "1", "2"}
