"""All events that a hub still has: by partition, from the earliest on, page by page, up to where it was at the start.

It reads beside the trigger: in the consumer group that every hub has, where no other reader claims partitions.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from shared.entries.changes.received_event import ReceivedEvent
from shared.errors import FactsUnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from datetime import datetime

    from azure.eventhub import EventData
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


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events in their order, and where to continue after them."""

    events: list[ReceivedEvent]
    continuation: str


class EventReplay(Protocol):
    """Reads whole hubs. Every call may raise `FactsUnavailableError`."""

    async def partitions(self, source: Source) -> list[str]:
        """The partitions of a source's hub."""

    def pages(
        self, source: Source, partition: str, continuation: str | None = None, page_events: int = PAGE_EVENTS
    ) -> AsyncGenerator[EventPage, None]:
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
    ) -> AsyncGenerator[EventPage, None]:
        """The pages of one partition up to the event that was its last when this began."""
        client = self._client(source)
        pages: asyncio.Queue[list[ReceivedEvent]] = asyncio.Queue(maxsize=1)
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


async def _next_page(pages: asyncio.Queue[list[ReceivedEvent]], receiving: asyncio.Task[None]) -> list[ReceivedEvent]:
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
    pages: asyncio.Queue[list[ReceivedEvent]],
) -> None:
    async def keep(_context: object, events: list[Any]) -> None:
        if events:
            await pages.put([received(event) for event in events])

    await client.receive_batch(
        on_event_batch=keep,
        partition_id=partition,
        starting_position="-1" if continuation is None else int(continuation),
        starting_position_inclusive=False,
        max_batch_size=page_events,
        max_wait_time=1,
    )


def received(event: EventData) -> ReceivedEvent:
    """An event of the SDK."""
    body: Any = event.body
    # It may come in pieces, and a piece may be null.
    whole = body if isinstance(body, bytes) else b"".join(part or b"" for part in body or ())
    properties = {str(_text(name)): _property(value) for name, value in (event.properties or {}).items()}
    enqueued, number = cast("datetime", event.enqueued_time), cast("int", event.sequence_number)
    return ReceivedEvent(whole, enqueued, number, _text(event.partition_key), properties)


def _property(value: Any) -> Any:
    """A property as JSON has it, as the host hands it over: a dead letter must be able to keep it."""
    value = _text(value)
    is_json = isinstance(value, str | int | bool | None) or (isinstance(value, float) and math.isfinite(value))
    return value if is_json else str(value)


def _text(value: Any) -> Any:
    """Bytes as the text that they are."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _unavailable(source: Source, error: Exception) -> FactsUnavailableError:
    return FactsUnavailableError(
        f'The hub of source "{source.name}" cannot be read ({type(error).__name__}: {error}): '
        "check the namespace, then try again."
    )
