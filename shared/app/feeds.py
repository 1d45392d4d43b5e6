"""The feeds of sources: how far they lag behind, and whether they have passed changes that will not come again."""

from __future__ import annotations

import asyncio
import logging
from functools import cached_property
from typing import TYPE_CHECKING

from shared.app.connection_settings import cosmos_connection, event_hubs_connection, index_account, storage_connection
from shared.app.connections import event_hubs_namespace
from shared.app.settings import COSMOS, EVENTHUB, HOST_STORAGE
from shared.errors import FeedUnavailableError, SettingError
from shared.monitoring.cosmos_lag import CosmosLag
from shared.monitoring.event_lag import CHECKPOINT_CONTAINER, EventHubLag
from shared.monitoring.lag import ASKING_SECONDS
from shared.sources.hub_events import EVENT_LAG_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from azure.cosmos.aio import CosmosClient
    from azure.eventhub.aio import EventHubConsumerClient
    from azure.storage.blob.aio import ContainerClient

    from shared.app.connections import Connections
    from shared.definitions.model import Source
    from shared.monitoring.lag import Feed

_log = logging.getLogger(__name__)


class Feeds:
    """The feeds of sources. If a connection is not set, the lag of its feeds is unknown; nothing else fails."""

    def __init__(
        self, environment: Mapping[str, str], connections: Connections, now_seconds: Callable[[], float]
    ) -> None:
        self._environment = environment
        self._connections = connections
        self._now_seconds = now_seconds
        self._hub_lags: dict[str, EventHubLag] = {}

    def of(self, source: Source) -> list[Feed]:
        """The feeds that deliver changes of a source."""
        feeds: list[Feed] = []
        if source.cosmos is not None:
            feeds.append(CosmosLag(source, lambda: index_account(self._environment), lambda: self._cosmos))
        if source.event_hub is not None:
            feeds.append(self._lag_of(source.event_hub))
        return feeds

    def _lag_of(self, hub: str) -> EventHubLag:
        """One for all sources that the hub feeds: they have one trigger, and so one checkpoint."""
        if hub not in self._hub_lags:
            self._hub_lags[hub] = EventHubLag(hub, self._namespace, self._hub, self._checkpoints)
        return self._hub_lags[hub]

    async def has_moved_on(self, source: Source) -> bool:
        """Whether a feed has passed changes that it will not deliver again; False for a feed that does not answer."""
        for feed in self.of(source):
            try:
                async with asyncio.timeout(ASKING_SECONDS):
                    if await feed.has_moved_on(self._now_seconds()):
                        return True
            except (FeedUnavailableError, SettingError, TimeoutError) as error:
                _log.warning("It is not known whether a new source has earlier facts", extra={"reason": str(error)})
        return False

    @cached_property
    def _cosmos(self) -> CosmosClient:
        """One client for all sources, connected when the first feed is asked."""
        return self._connections.cosmos_client(cosmos_connection(COSMOS.name, self._environment))

    def _namespace(self) -> str:
        return event_hubs_namespace(event_hubs_connection(EVENTHUB.name, self._environment))

    def _hub(self, name: str) -> EventHubConsumerClient:
        connection = event_hubs_connection(EVENTHUB.name, self._environment)
        # A status call must not wait for many retries.
        return self._connections.event_hub_client(connection, name, EVENT_LAG_GROUP, retry_total=1)

    def _checkpoints(self) -> ContainerClient:
        connection = storage_connection(HOST_STORAGE, self._environment)
        return self._connections.container_client(connection, CHECKPOINT_CONTAINER)
