"""Receiving with the real SDKs until enough has arrived."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Any, cast

from azure.eventhub import EventHubConsumerClient
from azure.eventhub.aio import EventHubConsumerClient as AsyncConsumerClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from azure.eventhub import EventData, EventHubProducerClient

    from tests.contract.eventhubs.conftest import HubUnderTest

RECEIVE_SECONDS = 30.0


def tails(producer: EventHubProducerClient, partitions: Sequence[str]) -> dict[str, Any]:
    """Where each partition ends now, as starting positions."""
    return {p: producer.get_partition_properties(p)["last_enqueued_sequence_number"] for p in partitions}


class Received:
    """Events as they arrive, from any thread, with the partitions they came from."""

    def __init__(self) -> None:
        self.events: list[tuple[str, EventData]] = []
        self.contexts: list[Any] = []
        self.errors: list[Exception] = []
        self._changed = threading.Condition()

    def add(self, context: Any, events: Sequence[EventData]) -> None:
        """A batch has arrived, or none in time."""
        if not events:
            return
        with self._changed:
            self.contexts.append(context)
            self.events += [(context.partition_id, event) for event in events]
            self._changed.notify_all()

    def fail(self, error: Exception) -> None:
        """The SDK reports an error."""
        with self._changed:
            self.errors.append(error)
            self._changed.notify_all()

    def wait(self, enough: Callable[[Received], bool], seconds: float = RECEIVE_SECONDS) -> bool:
        """Wait until `enough`, or for so long; says which."""
        with self._changed:
            return self._changed.wait_for(lambda: enough(self), seconds)

    @property
    def bodies(self) -> list[str]:
        """The bodies as text, in the order of their arrival; without those that have none, which others sent."""
        return [event.body_as_str() for _, event in self.events if None not in _sections(event)]


def _sections(event: EventData) -> list[object]:
    """What the body consists of."""
    return list(cast("Iterable[object]", event.body))


@contextlib.contextmanager
def receiving(hub: HubUnderTest, **options: Any) -> Any:
    """A sync consumer that receives in a thread until the block ends."""
    received = Received()
    client = EventHubConsumerClient.from_connection_string(
        hub.connection_string, options.pop("group", "$Default"), eventhub_name=hub.name, retry_total=0
    )

    def on_error(_: Any, error: Exception) -> None:
        received.fail(error)

    def run() -> None:
        client.receive_batch(received.add, on_error=on_error, **options)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield received
    finally:
        client.close()
        thread.join(RECEIVE_SECONDS)


@contextlib.asynccontextmanager
async def receiving_async(hub: HubUnderTest, store: Any = None, **options: Any) -> Any:
    """An async consumer that receives in a task until the block ends."""
    received = Received()
    client = AsyncConsumerClient.from_connection_string(
        hub.connection_string,
        options.pop("group", "$Default"),
        eventhub_name=hub.name,
        checkpoint_store=store,
        load_balancing_interval=1,
        partition_ownership_expiration_interval=5,
    )
    checkpoints = options.pop("checkpoints", False)

    async def on_batch(context: Any, events: list[EventData]) -> None:
        if events and checkpoints:
            await context.update_checkpoint()
        # Counted when its checkpoint is written, so that a test may stop the consumer on this.
        received.add(context, events)

    async def on_error(_: Any, error: Exception) -> None:
        received.fail(error)

    task = asyncio.create_task(client.receive_batch(on_batch, on_error=on_error, **options))
    try:
        yield received
    finally:
        await client.close()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(claim: Callable[[], bool], seconds: float = RECEIVE_SECONDS) -> None:
    """Wait until a claim holds."""
    async with asyncio.timeout(seconds):
        while not claim():
            await asyncio.sleep(0.02)
