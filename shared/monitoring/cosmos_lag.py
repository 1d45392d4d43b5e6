"""The oldest change of a Cosmos DB container that its trigger has not applied: the first one after its leases."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from shared.errors import FactsRefusedError, FeedUnavailableError
from shared.sources.feed_tokens import new_token
from shared.sources.partition_key import check_partition_key
from shared.sources.trigger_leases import (
    ALL_VERSIONS,
    LATEST,
    LEASE_CONTAINER,
    LeasePosition,
    lease_prefix,
    positions,
    trigger_prefix,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from azure.cosmos.aio import ContainerProxy, CosmosClient

    from shared.definitions.model import Source

# More in flight would only queue up at the account.
_ASKED_AT_ONCE: Final = 8
# A feed that starts now has the changes after its start. By then the first worker is running.
_JUST_STARTED_SECONDS: Final = 120


class CosmosLag:
    """The change feed of a source, and the leases of the trigger that applies it."""

    def __init__(self, source: Source, index_account: Callable[[], str], connect: Callable[[], CosmosClient]) -> None:
        assert source.cosmos is not None
        self._source = source
        self._index_account = index_account
        self._container = source.cosmos
        self._mode = ALL_VERSIONS if source.all_versions else LATEST
        self._connect = connect
        self._asking = asyncio.Semaphore(_ASKED_AT_ONCE)

    async def oldest_waiting(self) -> float | None:
        """When the oldest change after the leases' positions was made; without leases, the first change of all."""
        with self._sdk_errors_as_unavailable():
            container, rid = await self._reach()
            lease_positions = await self._positions(container, rid) or await self._beginnings(container)
            found = await asyncio.gather(*(self._first_after(container, rid, position) for position in lease_positions))
            return min((seconds for seconds in found if seconds is not None), default=None)

    async def has_moved_on(self, now_seconds: float) -> bool:
        """Whether a lease has passed changes or, for a feed that starts now, there are facts from before its start."""
        with self._sdk_errors_as_unavailable():
            container, rid = await self._reach()
            if self._mode == ALL_VERSIONS:
                return await _has_facts_before(container, now_seconds - _JUST_STARTED_SECONDS)
            return any(position.etag is not None for position in await self._positions(container, rid))

    async def _reach(self) -> tuple[ContainerProxy, str]:
        """The container and its resource id."""
        database = self._connect().get_database_client(self._container.database)
        container = database.get_container_client(self._container.container)
        properties = await container.read()
        check_partition_key(properties, self._source)
        return container, str(properties["_rid"])

    async def _positions(self, container: ContainerProxy, rid: str) -> list[LeasePosition]:
        """The positions of the trigger's leases."""
        host = str(urlsplit(container.client_connection.url_connection).hostname)
        prefix = lease_prefix(trigger_prefix(self._source, self._index_account()), host)
        database = self._connect().get_database_client(self._container.database)
        return positions(await _leases(database.get_container_client(LEASE_CONTAINER), prefix), rid)

    @contextmanager
    def _sdk_errors_as_unavailable(self) -> Iterator[None]:
        from azure.core.exceptions import AzureError

        try:
            yield
        except FactsRefusedError as error:
            raise FeedUnavailableError(str(error)) from error
        except (AzureError, OSError) as error:
            raise FeedUnavailableError(
                f'The change feed of source "{self._source.name}" cannot be read ({type(error).__name__}): '
                "check that Cosmos DB answers and that the app may read facts and leases."
            ) from error

    async def _beginnings(self, container: ContainerProxy) -> list[LeasePosition]:
        """Where the trigger will start. A feed of all versions starts with its leases: nothing waits before that."""
        if self._mode == ALL_VERSIONS:
            return []
        return [
            LeasePosition(feed_range["Range"], None) async for feed_range in cast(Any, container.read_feed_ranges())
        ]

    async def _first_after(self, container: ContainerProxy, rid: str, position: LeasePosition) -> float | None:
        """When the first change after a position was made. Nothing is waiting in a range that has no change there."""
        async with self._asking:
            pages = cast(Any, container.query_items_change_feed(**self._arguments(rid, position))).by_page()
            async for page in pages:
                async for document in page:
                    return _made_at(document)
        return None

    def _arguments(self, rid: str, position: LeasePosition) -> dict[str, Any]:
        arguments: dict[str, Any] = {"max_item_count": 1}
        if position.etag is not None:
            return arguments | {"continuation": new_token(rid, self._mode, position.feed_range, position.etag)}
        feed_range = {"Range": dict(position.feed_range)}
        return arguments | {"feed_range": feed_range, "mode": self._mode, "start_time": "Beginning"}


async def _leases(container: ContainerProxy, prefix: str) -> list[dict[str, Any]]:
    """The leases whose ids have this prefix; none while the trigger has never started."""
    from azure.cosmos.exceptions import CosmosResourceNotFoundError

    found = container.query_items(
        "SELECT c.id, c.LeaseToken, c.ContinuationToken, c.FeedRange FROM c WHERE STARTSWITH(c.id, @prefix)",
        parameters=[{"name": "@prefix", "value": prefix}],
    )
    try:
        return [lease async for lease in found]
    except CosmosResourceNotFoundError:
        return []


async def _has_facts_before(container: ContainerProxy, seconds: float) -> bool:
    query = "SELECT TOP 1 c.id FROM c WHERE c._ts < @seconds"
    async for _ in container.query_items(query, parameters=[{"name": "@seconds", "value": int(seconds)}]):
        return True
    return False


def _made_at(document: Mapping[str, Any]) -> float:
    """When a change was made. In a feed of all versions the time of a delete is in its metadata only."""
    current = document.get("current") or {}
    metadata = document.get("metadata") or {}
    return float(document.get("_ts") or current.get("_ts") or metadata.get("crts") or 0)
