"""All events that a hub still has: by partition, from the earliest on, page by page, up to where it was at the start.

It reads beside the trigger: in the consumer group that every hub has, where no other reader claims partitions.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from shared.errors import FactsUnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from datetime import datetime

    from azure.eventhub.aio import EventHubConsumerClient

    from shared.definitions.model import Source

# The three consumer groups of a hub. The trigger reads in the first one. The templates and the local run create it.
EVENT_CONSUMER_GROUP: Final = "index-tables"
# They create this one, too. It is only read to see how long the oldest event has been waiting.
EVENT_LAG_GROUP: Final = f"{EVENT_CONSUMER_GROUP}-lag"
# Every hub has this one. Builds read it from the earliest event on.
REPLAY_CONSUMER_GROUP: Final = "$Default"
PAGE_EVENTS: Final = 1000
# A hub with more events delivers them sooner than this.
_WAIT_SECONDS: Final = 30.0


class HubEvent(NamedTuple):
    """An event as the hub keeps it."""

    body: bytes
    enqueued: datetime
    sequence_number: int


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events in their order, and where to continue after them."""

    events: list[HubEvent]
    continuation: str


class EventReplay(Protocol):
    """Reads whole hubs. Every call may raise `FactsUnavailableError`."""

    async def partitions(self, source: Source) -> list[str]:
        """The partitions of a source's hub."""

    def pages(
        self, source: Source, partition: str, continuation: str | None = None, page_events: int = PAGE_EVENTS
    ) -> AsyncIterator[EventPage]:
        """The pages of one partition, from the earliest event or after a continuation, up to the last one there is."""


class HubReplay:
    """The hubs of one namespace."""

    def __init__(self, connect: Callable[[str], EventHubConsumerClient]) -> None:
        self._connect = connect

    async def partitions(self, source: Source) -> list[str]:
        """The partitions of a source's hub."""
        client = self._client(source)
        try:
            return list(await client.get_partition_ids())
        except Exception as error:
            raise _unavailable(source, error) from error
        finally:
            await client.close()

    async def pages(
        self, source: Source, partition: str, continuation: str | None = None, page_events: int = PAGE_EVENTS
    ) -> AsyncIterator[EventPage]:
        """The pages of one partition up to the event that was its last when this began."""
        client = self._client(source)
        pages: asyncio.Queue[list[HubEvent]] = asyncio.Queue(maxsize=1)
        receiving: asyncio.Task[None] | None = None
        try:
            properties: dict[str, Any] = await client.get_partition_properties(partition)
            last = properties["last_enqueued_sequence_number"]
            done = properties["beginning_sequence_number"] - 1 if continuation is None else int(continuation)
            if properties["is_empty"] or done >= last:
                return
            receiving = asyncio.create_task(_receive(client, partition, continuation, page_events, pages))
            while done < last:
                events = await _next_page(pages, receiving)
                done = events[-1].sequence_number
                yield EventPage(events, str(done))
        except Exception as error:
            raise _unavailable(source, error) from error
        finally:
            if receiving is not None:
                receiving.cancel()
                await asyncio.wait([receiving])
            await client.close()

    def _client(self, source: Source) -> EventHubConsumerClient:
        assert source.event_hub is not None
        return self._connect(source.event_hub)


async def _next_page(pages: asyncio.Queue[list[HubEvent]], receiving: asyncio.Task[None]) -> list[HubEvent]:
    """The next page; raises what ended the receiver, or `TimeoutError`."""
    getting = asyncio.create_task(pages.get())
    await asyncio.wait({getting, receiving}, timeout=_WAIT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    if getting.done():
        return getting.result()
    getting.cancel()
    if receiving.done():
        receiving.result()
    raise TimeoutError("no event came, though there are more")


async def _receive(
    client: EventHubConsumerClient,
    partition: str,
    continuation: str | None,
    page_events: int,
    pages: asyncio.Queue[list[HubEvent]],
) -> None:
    async def keep(_context: object, events: list[Any]) -> None:
        if events:
            await pages.put(
                [HubEvent(event_body(event), event.enqueued_time, event.sequence_number) for event in events]
            )

    await client.receive_batch(
        on_event_batch=keep,
        partition_id=partition,
        starting_position="-1" if continuation is None else int(continuation),
        starting_position_inclusive=False,
        max_batch_size=page_events,
        max_wait_time=1,
    )


def event_body(event: Any) -> bytes:
    """The body of an event of the SDK, which may come in pieces."""
    body = event.body
    return body if isinstance(body, bytes) else b"".join(body)


def _unavailable(source: Source, error: Exception) -> FactsUnavailableError:
    return FactsUnavailableError(
        f'The hub of source "{source.name}" cannot be read ({type(error).__name__}: {error}): '
        "check the namespace, then try again."
    )
