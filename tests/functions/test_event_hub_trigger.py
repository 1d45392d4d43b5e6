"""The Event Hubs trigger gives a function every event, in the order of its partition, at least once."""

from __future__ import annotations

import contextlib
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from azure.core.exceptions import ResourceNotFoundError
from azure.eventhub import EventData, EventHubProducerClient
from azure.storage.blob import BlobClient, ContainerClient

from tests.contract.eventhubs.server import LocalEventHubs
from tests.functions.apps import STOP_THE_FIRST_TIME, serving, started, write_app
from tests.support import json_lines, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TRIGGER = """
from typing import List

@app.event_hub_message_trigger(arg_name="events", connection="EVENTHUB", event_hub_name="%HUB%",
    cardinality=func.Cardinality.MANY, data_type=func.DataType.BINARY, consumer_group="$Default")
RETRY
async def on_events(events: List[func.EventHubEvent], context: func.Context) -> None:
    if any(event.get_body() == b"poison" for event in events):
        logging.info("poison, retry %d", context.retry_context.retry_count)
        raise ValueError("planted")
    properties = events[0].metadata["PropertiesArray"]
    with open(os.environ["SEEN"], "a") as file:
        for event, given in zip(events, properties):
            file.write(json.dumps({"body": event.get_body().decode("latin-1"), "number": event.sequence_number,
                "partition": event.metadata["PartitionContext"]["PartitionId"], "properties": given,
                "enqueued": event.enqueued_time.isoformat(), "batch": len(events)}) + "\\n")
"""
UNLIMITED = (
    '@app.retry(strategy="exponential_backoff", max_retry_count="-1", minimum_interval="00:00:01", '
    'maximum_interval="00:00:02")'
)
ONCE = '@app.retry(strategy="fixed_delay", max_retry_count="1", delay_interval="00:00:00")'
PARTITIONS = 4


@dataclass(frozen=True)
class Hub:
    """A hub of this test's own on a server, and the storage for its checkpoints."""

    server: LocalEventHubs
    name: str
    storage: str
    # One for all: to connect takes the SDK longer than to send.
    producer: EventHubProducerClient

    def send(self, bodies: list[str | bytes], **where: Any) -> None:
        """One batch of events; `where` is a partition key or id."""
        batch = self.producer.create_batch(**where)
        for body in bodies:
            event = EventData(body)
            event.properties = {"type": "order"}
            batch.add(event)
        self.producer.send_batch(batch)

    def settings(self, folder: Path) -> dict[str, str]:
        """The app settings of a host that keeps what it sees in `folder`."""
        return {
            "EVENTHUB": self.server.connection_string,
            "HUB": self.name,
            "AzureWebJobsStorage": self.storage,
            "SEEN": str(folder / "seen.jsonl"),
            "LOCAL_LEASE_EXPIRY_SECONDS": "2",
        }


HUB_NAMES = [f"hub{number}" for number in range(16)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEventHubs]:
    """One server with a hub for each test."""
    arguments = [part for name in HUB_NAMES for part in ("--hub", f"{name}:{PARTITIONS}")]
    running = LocalEventHubs(tmp_path_factory.mktemp("eventhubs"), arguments).start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def unused_hubs() -> list[str]:
    """The hubs that no test has taken yet."""
    return list(HUB_NAMES)


@pytest.fixture
def hub(server: LocalEventHubs, azurite: str, unused_hubs: list[str]) -> Iterator[Hub]:
    """A hub of this test's own."""
    name = unused_hubs.pop()
    with EventHubProducerClient.from_connection_string(server.connection_string, eventhub_name=name) as producer:
        yield Hub(server, name, azurite, producer)


def seen(*folders: Path) -> list[dict[str, Any]]:
    """What the function saw on these hosts."""
    return json_lines(*(folder / "seen.jsonl" for folder in folders))


def checkpoint_of(hub: Hub, partition: str) -> int | None:
    """The last sequence number that the host has noted for a partition."""
    with BlobClient.from_connection_string(
        hub.storage, "azure-webjobs-eventhub", f"127.0.0.1/{hub.name}/$default/checkpoint/{partition}"
    ) as blob:
        try:
            return int(blob.get_blob_properties().metadata["sequencenumber"])
        except ResourceNotFoundError:
            return None


def app(folder: Path, retry: str = UNLIMITED, **options: Any) -> Path:
    """The app under test; `options` are of its host.json."""
    host_json = {"version": "2.0", "extensions": {"eventHubs": {"maxEventBatchSize": 50, **options}}}
    return write_app(folder / "app", TRIGGER.replace("RETRY", retry), host_json)


def test_events_arrive_in_batches_with_their_properties(hub: Hub, tmp_path: Path) -> None:
    """In the order of their partition; also a body that is no text."""
    hub.send([str(number) for number in range(20)], partition_key="k")
    hub.send([b"\xff\x00"], partition_id="0")
    with serving(app(tmp_path), hub.settings(tmp_path)):
        wait_until(lambda: len(seen(tmp_path)) == 21, "all 21")
    keyed = [event for event in seen(tmp_path) if event["body"].isdecimal()]
    assert [event["body"] for event in keyed] == [str(number) for number in range(20)]
    assert len({event["partition"] for event in keyed}) == 1
    assert {event["properties"]["type"] for event in keyed} == {"order"}
    assert "\xff\x00" in {event["body"] for event in seen(tmp_path)}


def test_a_restarted_host_goes_on_after_its_checkpoint(hub: Hub, tmp_path: Path) -> None:
    """Nothing is given twice when the host stops in order."""
    folder = app(tmp_path)
    hub.send([str(number) for number in range(10)], partition_id="1")
    with serving(folder, hub.settings(tmp_path)):
        wait_until(lambda: checkpoint_of(hub, "1") == 9, "the checkpoint")
    hub.send([str(number) for number in range(10, 15)], partition_id="1")
    with serving(folder, hub.settings(tmp_path)):
        wait_until(lambda: len(seen(tmp_path)) == 15, "5 more")
    assert [event["body"] for event in seen(tmp_path)] == [str(number) for number in range(15)]


def test_a_failing_batch_is_retried_and_not_checkpointed(hub: Hub, tmp_path: Path) -> None:
    """An unlimited policy: the partition waits; after a restart the same batch comes again."""
    folder = app(tmp_path)
    hub.send(["poison"], partition_id="2")
    for _ in range(2):
        with serving(folder, hub.settings(tmp_path)) as host:
            wait_until(lambda: "poison, retry 1" in host.program.output, "the first retry")
    assert seen(tmp_path) == []


def test_a_batch_whose_retries_are_used_up_is_lost(hub: Hub, tmp_path: Path) -> None:
    """The real extension checkpoints it, and so do we."""
    hub.send(["poison"], partition_id="3")
    with serving(app(tmp_path, ONCE), hub.settings(tmp_path)) as host:
        wait_until(lambda: "gave up a batch of 1" in host.program.output, "the batch is given up")
        hub.send(["after"], partition_id="3")
        wait_until(lambda: [event["body"] for event in seen(tmp_path)] == ["after"], "the hub goes on")


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_host_hands_its_partitions_over(hub: Hub, tmp_path: Path, victim: int) -> None:
    """Two hosts share four partitions; when one dies, the other gets what is left."""
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    with (
        serving(app(folders[0]), hub.settings(folders[0])) as first_host,
        serving(app(folders[1]), hub.settings(folders[1])) as second_host,
    ):
        sent: set[str] = set()

        def send_to_all() -> None:
            for partition in range(PARTITIONS):
                body = uuid.uuid4().hex
                sent.add(body)
                hub.send([body], partition_id=str(partition))

        def both_receive() -> bool:
            send_to_all()
            return all(seen(folder) for folder in folders)

        wait_until(both_receive, "both hosts receive")
        (first_host, second_host)[victim].program.process.kill()
        send_to_all()
        wait_until(lambda: {event["body"] for event in seen(*folders)} == sent, "every event was seen")


def send_until_seen(hub: Hub, folder: Path) -> None:
    """Events to all partitions, until one of each partition was seen: then all are owned and read."""

    def has_seen_all() -> bool:
        for partition in range(PARTITIONS):
            hub.send(["later"], partition_id=str(partition))
        return {event["partition"] for event in seen(folder)} == {str(number) for number in range(PARTITIONS)}

    wait_until(has_seen_all, "an event of every partition")


def test_a_new_consumer_starts_at_the_end_if_host_json_says_so(hub: Hub, tmp_path: Path) -> None:
    """What was there before is passed over."""
    hub.send(["before"], partition_id="0")
    with serving(app(tmp_path, initialOffsetOptions={"type": "fromEnd"}), hub.settings(tmp_path)):
        send_until_seen(hub, tmp_path)
    assert {event["body"] for event in seen(tmp_path)} == {"later"}


@pytest.mark.parametrize(("moment", "expected"), [("2000-01-01T00:00:00Z", {"before", "later"}), ("NOW", {"later"})])
def test_a_new_consumer_starts_at_a_time(hub: Hub, tmp_path: Path, moment: str, expected: set[str]) -> None:
    """Enqueued at it or after it."""
    hub.send(["before"], partition_id="0")
    moment = moment.replace("NOW", datetime.now(UTC).isoformat())
    start = {"type": "fromEnqueuedTime", "enqueuedTimeUtc": moment}
    with serving(app(tmp_path, initialOffsetOptions=start), hub.settings(tmp_path)):
        send_until_seen(hub, tmp_path)
    assert {event["body"] for event in seen(tmp_path)} == expected


@pytest.mark.parametrize(
    ("start", "reason"),
    [({"type": "fromMiddle"}, "write fromStart"), ({"type": "fromEnqueuedTime"}, "write an ISO 8601 time")],
)
def test_a_start_that_is_none_is_refused(hub: Hub, tmp_path: Path, start: dict[str, str], reason: str) -> None:
    """When the host starts, with the place in host.json."""
    folder = app(tmp_path, initialOffsetOptions=start)
    with started(folder, tmp_path / "host.log", hub.settings(tmp_path)) as program:
        assert program.wait() == 1
        assert reason in program.output


def test_checkpoints_are_as_rare_as_host_json_says(hub: Hub, tmp_path: Path) -> None:
    """With one checkpoint per thousand batches, a restarted host gets everything again."""
    folder = app(tmp_path, batchCheckpointFrequency=1000)
    hub.send(["once"], partition_id="1")
    for times in (1, 2):
        with serving(folder, hub.settings(tmp_path)):
            wait_until(lambda: len(seen(tmp_path)) == times, "the event")  # noqa: B023 - called within its round


def test_a_binding_that_azure_would_break_on_is_refused(hub: Hub, tmp_path: Path) -> None:
    """Without binary bodies the host parses them, and one that is no JSON fails there."""
    functions = TRIGGER.replace(", data_type=func.DataType.BINARY", "").replace("RETRY", "")
    with started(write_app(tmp_path / "app", functions), tmp_path / "host.log", hub.settings(tmp_path)) as program:
        assert program.wait() == 1
        assert "data_type=BINARY" in program.output


@dataclass
class MovingHub:
    """A hub whose server is started again on other ports, as the local run does when a port is taken."""

    folder: Path
    storage: str
    name: str

    @contextlib.contextmanager
    def running(self) -> Iterator[Hub]:
        """The server on a port that it never had."""
        running = LocalEventHubs(self.folder, ["--hub", f"{self.name}:1"]).start()
        try:
            with EventHubProducerClient.from_connection_string(
                running.connection_string, eventhub_name=self.name
            ) as producer:
                yield Hub(running, self.name, self.storage, producer)
        finally:
            running.stop()

    @property
    def blobs(self) -> dict[str, dict[str, str]]:
        """The metadata of the blobs of this hub's checkpoints, by name."""
        with ContainerClient.from_connection_string(self.storage, "azure-webjobs-eventhub") as container:
            return {
                blob.name: blob.metadata
                for blob in container.list_blobs(include=["metadata"])
                if f"/{self.name}/" in blob.name and "/checkpoint/" in blob.name
            }

    @property
    def last_checkpoint(self) -> int | None:
        """The sequence number of the newest checkpoint."""
        return max((int(metadata["sequencenumber"]) for metadata in self.blobs.values()), default=None)


@pytest.fixture
def moving_hub(azurite: str, tmp_path: Path) -> MovingHub:
    """A hub of this test's own on a server of this test's own."""
    return MovingHub(tmp_path / "moving", azurite, f"moving-{uuid.uuid4().hex[:8]}")


def test_a_restart_on_another_port_brings_nothing_again(moving_hub: MovingHub, tmp_path: Path) -> None:
    """Checkpoints are named by host without its port, as .NET names them."""
    folder = app(tmp_path)
    for total in (3, 5):
        with moving_hub.running() as hub:
            hub.send([str(number) for number in range(len(seen(tmp_path)), total)], partition_id="0")
            with serving(folder, hub.settings(tmp_path)):
                wait_until(lambda: moving_hub.last_checkpoint == total - 1, "the checkpoint")  # noqa: B023 - called within its round
    assert [event["body"] for event in seen(tmp_path)] == ["0", "1", "2", "3", "4"]
    assert list(moving_hub.blobs) == [f"127.0.0.1/{moving_hub.name}/$default/checkpoint/0"]


def test_a_checkpoint_named_by_port_is_taken_over(moving_hub: MovingHub, tmp_path: Path) -> None:
    """Without it a hub that starts at its end would lose what came while no host ran."""
    folder = app(tmp_path, initialOffsetOptions={"type": "fromEnd"})
    with moving_hub.running() as hub, serving(folder, hub.settings(tmp_path)):

        def is_checkpointed() -> bool:
            hub.send(["first"], partition_id="0")
            return moving_hub.last_checkpoint is not None

        wait_until(is_checkpointed, "a checkpoint")
    (found,) = moving_hub.blobs.values()
    for port, number in ((5672, found["sequencenumber"]), (40000, "1000000")):
        old_name = f"127.0.0.1:{port}/{moving_hub.name}/$default/checkpoint/0"
        with ContainerClient.from_connection_string(moving_hub.storage, "azure-webjobs-eventhub") as container:
            container.upload_blob(old_name, b"", metadata={**found, "sequencenumber": number}, overwrite=True)
    with ContainerClient.from_connection_string(moving_hub.storage, "azure-webjobs-eventhub") as container:
        container.delete_blob(f"127.0.0.1/{moving_hub.name}/$default/checkpoint/0")
    with moving_hub.running() as hub:
        hub.send(["while no host ran"], partition_id="0")
        with serving(folder, hub.settings(tmp_path)):
            wait_until(lambda: seen(tmp_path)[-1]["body"] == "while no host ran", "what came between")


def test_a_batch_that_ends_after_the_stop_began_comes_again(moving_hub: MovingHub, tmp_path: Path) -> None:
    """It is not checkpointed, as in Azure."""
    functions = TRIGGER.replace("RETRY", "").replace("    properties =", STOP_THE_FIRST_TIME + "    properties =")
    folder = write_app(tmp_path / "app", functions)
    with moving_hub.running() as hub:
        hub.send(["x"], partition_id="0")
        with serving(folder, hub.settings(tmp_path)) as host:
            assert host.program.wait() == 0
        assert [event["body"] for event in seen(tmp_path)] == ["x"]
        assert moving_hub.last_checkpoint is None
        with serving(folder, hub.settings(tmp_path)):
            wait_until(lambda: moving_hub.last_checkpoint == 0, "the checkpoint")
    assert [event["body"] for event in seen(tmp_path)] == ["x", "x"]
