"""The oldest event of a hub that its trigger has not applied: checkpoints compared with the end of each partition.

Checkpoints are blobs in the host's storage, in the layout that all of Azure's SDKs and the extension share. The time of
the first event after a checkpoint is read in a separate consumer group: another reader in the trigger's group would
disconnect the trigger's readers.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shared.errors import FeedUnavailableError
from shared.sources.hub_events import EVENT_CONSUMER_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from azure.eventhub import EventData
    from azure.eventhub.aio import EventHubConsumerClient, PartitionContext
    from azure.storage.blob.aio import ContainerClient

CHECKPOINT_CONTAINER: Final = "azure-webjobs-eventhub"
_SEQUENCE_NUMBER: Final = "sequencenumber"
_FROM_START: Final = "-1"
# An existing event comes at once. If it does not, the time of the partition's last event is used.
_PEEK_SECONDS: Final = 3.0


class _Partition(NamedTuple):
    """A partition that has events after its checkpoint."""

    id: str
    # The last applied event, or the text for "from the start".
    after: int | str
    last_enqueued_seconds: float


class EventHubLag:
    """A hub, and the checkpoints of the trigger that applies it."""

    def __init__(
        self,
        hub: str,
        namespace: Callable[[], str],
        connect: Callable[[str], EventHubConsumerClient],
        checkpoints: Callable[[], ContainerClient],
    ) -> None:
        self._hub = hub
        self._namespace = namespace
        self._connect = connect
        self._checkpoints = checkpoints

    async def oldest_waiting(self) -> float | None:
        """When the oldest event after the checkpoints was enqueued."""
        with self._sdk_errors_as_unavailable():
            async with self._connect(self._hub) as client:
                behind = await self._behind(client)
                found = await asyncio.gather(*(_first_after(client, partition) for partition in behind))
                return min(found, default=None)

    async def has_moved_on(self, now_seconds: float) -> bool:
        """Whether there is a checkpoint after an event."""
        with self._sdk_errors_as_unavailable():
            return bool(await self._applied(self._namespace()))

    @contextmanager
    def _sdk_errors_as_unavailable(self) -> Iterator[None]:
        from azure.core.exceptions import AzureError
        from azure.eventhub.exceptions import EventHubError

        try:
            yield
        except (AzureError, EventHubError, OSError) as error:
            raise FeedUnavailableError(
                f'The hub "{self._hub}" cannot be read ({type(error).__name__}): check that Event Hubs '
                "and the host's storage answer and that the app may receive."
            ) from error

    async def _behind(self, client: EventHubConsumerClient) -> list[_Partition]:
        applied, ids = await asyncio.gather(self._applied(self._namespace()), client.get_partition_ids())
        ends = await asyncio.gather(*(client.get_partition_properties(partition) for partition in ids))
        return [partition for end in ends if (partition := _waiting(end, applied.get(str(end["id"])))) is not None]

    async def _applied(self, namespace: str) -> dict[str, int]:
        """The sequence number of the last applied event, by partition."""
        from azure.core.exceptions import ResourceNotFoundError

        prefix = f"{namespace}/{self._hub}/{EVENT_CONSUMER_GROUP}/checkpoint/".lower()
        applied = {}
        async with self._checkpoints() as container:
            try:
                async for blob in container.list_blobs(name_starts_with=prefix, include=["metadata"]):
                    number = (blob.metadata or {}).get(_SEQUENCE_NUMBER)
                    if number:
                        applied[blob.name.removeprefix(prefix)] = int(number)
            except ResourceNotFoundError:
                return {}  # no trigger has ever started
        return applied


def _waiting(end: Mapping[str, Any], applied: int | None) -> _Partition | None:
    """The partition if it has events that are not applied."""
    last = end["last_enqueued_sequence_number"]
    if end["is_empty"] or (applied is not None and last <= applied):
        return None
    after = _FROM_START if applied is None or applied < end["beginning_sequence_number"] else applied
    return _Partition(str(end["id"]), after, end["last_enqueued_time_utc"].timestamp())


async def _first_after(client: EventHubConsumerClient, partition: _Partition) -> float:
    """When the first event that waits was enqueued; at the latest it was when the last one was."""
    first: asyncio.Future[datetime] = asyncio.get_running_loop().create_future()

    async def on_events(_context: PartitionContext, events: list[EventData]) -> None:
        if events and not first.done() and events[0].enqueued_time is not None:
            first.set_result(events[0].enqueued_time)

    receiving = asyncio.create_task(
        client.receive_batch(
            on_events,
            max_batch_size=1,
            partition_id=partition.id,
            starting_position=partition.after,
            prefetch=1,
        )
    )
    waiting: list[asyncio.Future[Any]] = [first, receiving]
    await asyncio.wait(waiting, timeout=_PEEK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    receiving.cancel()
    await asyncio.gather(receiving, return_exceptions=True)
    return first.result().timestamp() if first.done() else partition.last_enqueued_seconds
