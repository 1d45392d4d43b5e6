"""Follows the changes of a source: in its container's feed, in its event hub, or in both.

Items are read as the pipeline reads them: an item is a change, or it has a reason why it is none.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from cli.output import tell
from cli.sources.connections import cosmos_account, reason_of
from shared.errors import FactsUnavailableError, IgnoredEventError, UnreadableChangeError
from shared.sources.hub_events import received
from shared.sources.trigger_leases import ALL_VERSIONS, LATEST

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from azure.cosmos.aio import ContainerProxy
    from azure.eventhub import EventData
    from azure.eventhub.aio import EventHubConsumerClient

    from shared.app.connection_settings import CosmosConnection, EventHubsConnection
    from shared.definitions.model import Definitions, Source
    from shared.entries.changes.change import Change

    OnItem: TypeAlias = "Callable[[FollowedItem], None]"

_POLL_SECONDS: Final = 0.5
# Every hub has this group. The app reads in its own, which is not disturbed.
_CONSUMER_GROUP: Final = "$Default"


@dataclass(frozen=True, slots=True)
class FollowedItem:
    """An item of a feed or hub: a change, or the reason why it is none."""

    origin: str
    change: Change | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Follower:
    """Follows one source, from its oldest change or from now on; calls `on_item` with each item."""

    source: Source
    definitions: Definitions
    from_beginning: bool
    on_item: OnItem

    async def follow_container(self, connection: CosmosConnection) -> None:
        """Read the change feed, again and again; raises `FactsUnavailableError`."""
        from azure.core.exceptions import AzureError

        assert self.source.cosmos is not None
        try:
            async with cosmos_account(connection) as client:
                database = client.get_database_client(self.source.cosmos.database)
                await self._follow_feed(database.get_container_client(self.source.cosmos.container))
        except (AzureError, OSError) as error:
            raise _unavailable(self.source, error) from error

    async def follow_hub(self, connection: EventHubsConnection) -> None:
        """Receive from all partitions; raises `FactsUnavailableError` when that cannot even begin."""
        from azure.core.exceptions import AzureError
        from azure.eventhub.exceptions import EventHubError

        from shared.app.app import app

        hub = str(self.source.event_hub)
        async with app().connections.event_hub_client(
            connection, hub, _CONSUMER_GROUP, retry_backoff_factor=0.2
        ) as client:
            try:
                start = "-1" if self.from_beginning else await _ends(client)
            except (EventHubError, AzureError, OSError) as error:
                raise _unavailable(self.source, error) from error
            _say_following(f"event hub {hub}")
            await client.receive(self._on_event(), on_error=_note_error, starting_position=start)

    async def _follow_feed(self, container: ContainerProxy) -> None:
        from shared.entries.changes.cosmos_changes import CosmosReader

        reader = CosmosReader(self.source)
        read = reader.all_versions if self.source.all_versions else reader.latest
        mode = ALL_VERSIONS if self.source.all_versions else LATEST
        start = "Beginning" if self.from_beginning and not self.source.all_versions else "Now"
        token = await self._read_pages(container, read, start_time=start, mode=mode)
        _say_following(f"container {container.id}")
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            token = await self._read_pages(container, read, continuation=token)

    async def _read_pages(self, container: ContainerProxy, read: Callable[[Any], Change], **options: Any) -> str:
        """Report all items that are there; the token to continue with."""
        pages: Any = container.query_items_change_feed(**options).by_page()
        async for page in pages:
            async for item in page:
                self.on_item(_item("container", read, item))
        # Without any page the pager has no token; the SDK then leaves it with the last answer.
        return pages.continuation_token or str(container.client_connection.last_response_headers["etag"])

    def _on_event(self) -> Callable[[Any, EventData | None], Awaitable[None]]:
        from shared.entries.changes.hub_reader import HubReader

        read = partial(HubReader.of(self.source, self.definitions).read_for, self.source.name)

        async def on_event(partition: Any, event: EventData | None) -> None:
            if event is not None:
                with contextlib.suppress(IgnoredEventError):
                    self.on_item(_item(f"partition {partition.partition_id}", read, received(event)))

        return on_event


def _item(origin: str, read: Callable[[Any], Change], item: Any) -> FollowedItem:
    try:
        return FollowedItem(origin, read(item))
    except UnreadableChangeError as error:
        return FollowedItem(origin, reason=str(error))


async def _ends(client: EventHubConsumerClient) -> dict[str, Any]:
    """The current end of each partition, as starting positions."""
    ends: dict[str, Any] = {}
    for partition in await client.get_partition_ids():
        last = (await client.get_partition_properties(partition))["last_enqueued_sequence_number"]
        ends[partition] = last if last >= 0 else "-1"
    return ends


async def _note_error(partition: Any, error: Exception) -> None:
    where = f"partition {partition.partition_id}" if partition else "the hub"
    tell(f"receiving from {where} failed and is tried again: {error}")


def _say_following(what: str) -> None:
    tell(f"following {what}; Ctrl-C ends it")


def _unavailable(source: Source, error: Exception) -> FactsUnavailableError:
    return FactsUnavailableError(f'Changes of source "{source.name}" cannot be followed: {reason_of(error)}')
