"""Event Hubs triggers: batches per partition, in order, at least once; hosts share the partitions.

Ownership and checkpoints are blobs, as the real extension keeps them. A batch is checkpointed when its function has
ended, also when all its retries have failed: that is what the extension does, and why our functions never give up. One
that ends after the host was told to stop is not checkpointed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from azure.core.exceptions import ResourceExistsError
from azure.eventhub import parse_connection_string
from azure.eventhub.aio import EventHubConsumerClient
from azure.storage.blob.aio import ContainerClient

from local.host.configuration import lease_expiry_seconds, resolve
from local.host.errors import FunctionTimedOutError, HostStoppingError
from local.host.services import STORAGE_RETRIES
from local.host.triggers.checkpoints import HostCheckpointStore, host_of, take_over_checkpoints_by_port
from local.host.triggers.event_payloads import event_batch
from local.process.errors import LocalRunError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from azure.eventhub import EventData
    from azure.eventhub.aio import PartitionContext

    from local.host.runtime import Function
    from local.host.services import HostServices

log = logging.getLogger("host.eventhubs")

CHECKPOINT_CONTAINER = "azure-webjobs-eventhub"
# How long the client waits for more events before it hands over what it has.
MAX_WAIT_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class EventHubOptions:
    """The section `eventHubs` of host.json, with the extension's defaults."""

    max_batch_size: int
    prefetch_count: int
    checkpoint_frequency: int
    starting_position: str | datetime

    @classmethod
    def from_host_json(cls, section: Mapping[str, Any]) -> EventHubOptions:
        """Read the section."""
        return cls(
            max_batch_size=int(section.get("maxEventBatchSize", 100)),
            prefetch_count=int(section.get("prefetchCount", 300)),
            checkpoint_frequency=max(1, int(section.get("batchCheckpointFrequency", 1))),
            starting_position=_starting_position(section.get("initialOffsetOptions", {})),
        )


class EventHubTrigger:
    """Calls one function with the events of one hub."""

    def __init__(self, function: Function, services: HostServices) -> None:
        binding = function.trigger
        if (
            str(binding.get("cardinality", "")).upper() != "MANY"
            or str(binding.get("dataType", "")).upper() != "BINARY"
        ):
            raise LocalRunError(
                f"Function {function.name}: the local host gives events in batches of bytes only; declare "
                "cardinality=MANY and data_type=BINARY, or a body that is not JSON fails inside Azure's host."
            )
        self._function = function
        self._services = services
        self._options = EventHubOptions.from_host_json(services.host_json.extension("eventHubs"))
        self._hub = resolve(str(binding["eventHubName"]), services.settings)
        self._group = resolve(str(binding.get("consumerGroup") or "$Default"), services.settings)
        self._connection_string = services.connection_string(str(binding["connection"]))
        self._storage = services.connection_string("AzureWebJobsStorage")
        self._expiry_seconds = lease_expiry_seconds(services.settings)
        self._batches_done: Counter[str] = Counter()
        self._batches_running = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def prepare(self) -> None:
        """Make the container of the checkpoints; events from before `listen` are kept in the hub."""
        namespace = parse_connection_string(self._connection_string).fully_qualified_namespace
        async with ContainerClient.from_connection_string(
            self._storage, CHECKPOINT_CONTAINER, **STORAGE_RETRIES
        ) as container:
            with contextlib.suppress(ResourceExistsError):
                await container.create_container()
            await take_over_checkpoints_by_port(container, host_of(namespace), self._hub, self._group)

    async def listen(self) -> None:
        """Receive until the host stops; a batch in flight ends first."""
        async with self._client() as client:
            receiving = asyncio.create_task(
                client.receive_batch(
                    self._handle,
                    on_error=self._note_error,
                    max_batch_size=self._options.max_batch_size,
                    max_wait_time=MAX_WAIT_SECONDS,
                    starting_position=self._options.starting_position,
                    prefetch=self._options.prefetch_count,
                )
            )
            await self._services.stop.wait()
            await self._idle.wait()
            receiving.cancel()
            await asyncio.gather(receiving, return_exceptions=True)

    def _client(self) -> EventHubConsumerClient:
        store = HostCheckpointStore.from_connection_string(self._storage, CHECKPOINT_CONTAINER, **STORAGE_RETRIES)
        return EventHubConsumerClient.from_connection_string(
            self._connection_string,
            self._group,
            eventhub_name=self._hub,
            checkpoint_store=store,
            load_balancing_interval=self._expiry_seconds / 5,
            partition_ownership_expiration_interval=self._expiry_seconds,
        )

    async def _handle(self, partition: PartitionContext, events: list[EventData]) -> None:
        if not events or self._services.stop.requested:
            return
        self._batches_running += 1
        self._idle.clear()
        try:
            await self._call_and_checkpoint(partition, events)
        finally:
            self._batches_running -= 1
            if not self._batches_running:
                self._idle.set()

    async def _call_and_checkpoint(self, partition: PartitionContext, events: list[EventData]) -> None:
        try:
            outcome = await self._services.invoker.call_with_retries(self._function, event_batch(partition, events))
        except (HostStoppingError, FunctionTimedOutError):
            return
        if self._services.stop.requested:
            return  # as in Azure: what ends after the stop began comes again
        if outcome.failure is not None:
            log.error("%s gave up a batch of %d; the hub goes on without it", self._function.name, len(events))
        self._batches_done[partition.partition_id] += 1
        if self._batches_done[partition.partition_id] % self._options.checkpoint_frequency == 0:
            await partition.update_checkpoint(events[-1])

    async def _note_error(self, partition: PartitionContext | None, error: Exception) -> None:
        where = f"partition {partition.partition_id}" if partition else "the hub"
        log.warning("Receiving from %s of %s failed and is tried again: %s", where, self._hub, error)


def _starting_position(section: Mapping[str, Any]) -> str | datetime:
    kind = str(section.get("type", "fromStart")).lower()
    if kind == "fromenqueuedtime":
        return _instant(section.get("enqueuedTimeUtc"))
    positions = {"fromstart": "-1", "fromend": "@latest"}
    if kind not in positions:
        raise LocalRunError(
            f"host.json: extensions.eventHubs.initialOffsetOptions.type is {section.get('type')!r}; write fromStart, "
            "fromEnd or fromEnqueuedTime."
        )
    return positions[kind]


def _instant(text: object) -> datetime:
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        raise LocalRunError(
            f"host.json: extensions.eventHubs.initialOffsetOptions.enqueuedTimeUtc is {text!r}; write an ISO 8601 time."
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
