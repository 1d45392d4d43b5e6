"""Storage queue triggers: at least once, several at a time, poisonous messages set aside.

A message is invisible to others while its function runs. Success deletes it. A failure makes it visible again until
its dequeue count reaches the limit; then it moves to the queue `<name>-poison`. One whose count is above the limit
(its hosts died) moves there without a call.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from azure.core.exceptions import AzureError, ResourceExistsError, ResourceNotFoundError
from azure.storage.queue.aio import QueueServiceClient

from local.host import payloads
from local.host.configuration import resolve, time_span_seconds
from local.host.errors import FunctionTimedOutError
from local.host.services import STORAGE_RETRIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from azure.storage.queue import QueueMessage
    from azure.storage.queue.aio import QueueClient

    from local.host.runtime import Function
    from local.host.services import HostServices

log = logging.getLogger("host.queue")

INVISIBLE_SECONDS = 600
# As in Azure, whose host gives no time: then it is the service's own.
POISON_SECONDS = 7 * 86_400
SHORTEST_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """The section `queues` of host.json, with the defaults of the extension on a developer's machine."""

    batch_size: int
    new_batch_threshold: int
    max_dequeue_count: int
    visibility_seconds: float
    longest_poll_seconds: float
    is_base64: bool

    @classmethod
    def from_host_json(cls, section: Mapping[str, Any]) -> QueueOptions:
        """Read the section; the service gives at most 32 messages at a time."""
        batch_size = min(int(section.get("batchSize", 16)), 32)
        return cls(
            batch_size=batch_size,
            new_batch_threshold=int(section.get("newBatchThreshold", batch_size // 2)),
            max_dequeue_count=int(section.get("maxDequeueCount", 5)),
            visibility_seconds=time_span_seconds(str(section.get("visibilityTimeout", "00:00:00"))),
            longest_poll_seconds=time_span_seconds(str(section.get("maxPollingInterval", "00:00:02"))),
            is_base64=str(section.get("messageEncoding", "base64")).lower() != "none",
        )


class QueueTrigger:
    """Calls one function for each message of one queue."""

    def __init__(self, function: Function, services: HostServices) -> None:
        self._function = function
        self._services = services
        self._options = QueueOptions.from_host_json(services.host_json.extension("queues"))
        self._queue_name = resolve(str(function.trigger["queueName"]), services.settings).lower()
        connection = str(function.trigger.get("connection") or "AzureWebJobsStorage")
        self._connection_string = services.connection_string(connection)
        self._running: set[asyncio.Task[None]] = set()

    async def prepare(self) -> None:
        """Nothing: what happens before `listen` is kept in storage."""

    async def listen(self) -> None:
        """Take messages until the host stops, then wait for the running functions."""
        async with QueueServiceClient.from_connection_string(self._connection_string, **STORAGE_RETRIES) as service:
            queue = service.get_queue_client(self._queue_name)
            poison = service.get_queue_client(f"{self._queue_name}-poison")
            try:
                await self._poll(queue, poison)
            finally:
                await asyncio.gather(*self._running)

    async def _poll(self, queue: QueueClient, poison: QueueClient) -> None:
        poll_seconds = SHORTEST_POLL_SECONDS
        while not self._services.stop.requested:
            if len(self._running) > self._options.new_batch_threshold:
                await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
                continue
            messages = await self._receive(queue)
            for message in messages:
                task = asyncio.create_task(self._handle(message, queue, poison))
                self._running.add(task)
                task.add_done_callback(self._running.discard)
            if messages:
                poll_seconds = SHORTEST_POLL_SECONDS
            else:
                await self._services.stop.sleep(poll_seconds)
                poll_seconds = min(poll_seconds * 2, self._options.longest_poll_seconds)

    async def _receive(self, queue: QueueClient) -> list[QueueMessage]:
        size = self._options.batch_size
        try:
            pages = queue.receive_messages(
                messages_per_page=size, max_messages=size, visibility_timeout=INVISIBLE_SECONDS
            )
            return [message async for message in pages]
        except ResourceNotFoundError:
            return []  # the queue is not there yet
        except AzureError as error:
            log.warning("Queue %s cannot be read: %s", self._queue_name, error)
            return []

    async def _handle(self, message: QueueMessage, queue: QueueClient, poison: QueueClient) -> None:
        """Call the function, then delete, release or set aside the message. A storage fault only delays it."""
        dequeue_count = message.dequeue_count or 0
        if dequeue_count > self._options.max_dequeue_count:
            succeeded = None
        else:
            keeping = asyncio.create_task(_keep_invisible(message, queue))
            try:
                succeeded = await self._call(message)
            finally:
                keeping.cancel()
        try:
            if succeeded:
                await queue.delete_message(message)
            elif succeeded is None or dequeue_count >= self._options.max_dequeue_count:
                await set_aside(message, queue, poison)
                log.error("A message moved to the queue %s", poison.queue_name)
            else:
                await queue.update_message(message, visibility_timeout=int(self._options.visibility_seconds))
        except AzureError as error:
            log.warning("A message of %s will come again: %s", self._queue_name, error)

    async def _call(self, message: QueueMessage) -> bool | None:
        """Whether the function succeeded; none when the message's text cannot be decoded."""
        try:
            content = _decode(message.content) if self._options.is_base64 else message.content
        except ValueError:
            log.warning("A message of %s is not Base64; see messageEncoding in host.json", self._queue_name)
            return None
        try:
            outcome = await self._services.invoker.call(self._function, payloads.queue(message, content))
        except FunctionTimedOutError:
            return False
        return outcome.failure is None


def _decode(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ValueError(text) from error


async def set_aside(message: QueueMessage, queue: QueueClient, poison: QueueClient) -> None:
    """Move a message to the poison queue, where it ends by itself after seven days."""
    with contextlib.suppress(ResourceExistsError):
        await poison.create_queue()
    await poison.send_message(message.content, time_to_live=POISON_SECONDS)
    await queue.delete_message(message)


async def _keep_invisible(message: QueueMessage, queue: QueueClient) -> None:
    """Renew the message's invisibility while its function runs."""
    while True:
        await asyncio.sleep(INVISIBLE_SECONDS / 2)
        with contextlib.suppress(AzureError):
            renewed = await queue.update_message(message, visibility_timeout=INVISIBLE_SECONDS)
            message.pop_receipt = renewed.pop_receipt
