"""Facts of Cosmos DB containers, by point reads with azure-cosmos. One client for all sources of an account."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from shared.errors import FactsRefusedError, FactsUnavailableError
from shared.sources.partition_key import check_partition_key, sdk_partition_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from azure.cosmos.aio import ContainerProxy, CosmosClient

    from shared.definitions.model import Source
    from shared.entries.keys.fact_key import FactKeyValue

# More in flight from one instance would only queue up at the account.
READS_AT_ONCE: Final = 16
# The SDK's own retries may take minutes, and a caller is waiting.
_READ_SECONDS: Final = 10
# Refusals that trying again does not change.
_FINAL_STATUSES: Final = frozenset({400, 401, 403})
# As the last segment of a path they name another resource.
_COLLAPSING_IDS: Final = frozenset({".", ".."})


class CosmosFacts:
    """Reads facts from the containers of one account. `close` it when done."""

    def __init__(self, connect: Callable[[], CosmosClient], reads_at_once: int = READS_AT_ONCE) -> None:
        # Connected when the first fact is asked for: the SDK costs 230 ms of imports that most lookups never need.
        self._connect = connect
        self._client: CosmosClient | None = None
        self._reads = asyncio.Semaphore(reads_at_once)
        # The sources whose containers are known to have the partition key that is declared.
        self._agreed: set[str] = set()

    async def read(
        self, source: Source, fact_id: str, partition_key: tuple[FactKeyValue, ...]
    ) -> dict[str, Any] | None:
        """The fact as it is now, or None when it is gone; raises `FactsUnavailableError` or `FactsRefusedError`."""
        from azure.core.exceptions import AzureError

        assert source.cosmos is not None
        if self._client is None:
            self._client = self._connect()
        container = self._client.get_database_client(source.cosmos.database).get_container_client(
            source.cosmos.container
        )
        try:
            async with self._reads, asyncio.timeout(_READ_SECONDS):
                return await self._read(container, source, fact_id, partition_key)
        except (AzureError, TimeoutError, OSError) as error:
            if getattr(error, "status_code", None) in _FINAL_STATUSES:
                raise FactsRefusedError(
                    f'Cosmos DB refuses to give the fact "{fact_id}" of source "{source.name}" '
                    f"({type(error).__name__}): check that the app may read its container."
                ) from error
            raise FactsUnavailableError(
                f'Facts of source "{source.name}" cannot be fetched ({type(error).__name__}): try again, '
                "or look up without expand=fact."
            ) from error

    async def _read(
        self, container: ContainerProxy, source: Source, fact_id: str, partition_key: tuple[FactKeyValue, ...]
    ) -> dict[str, Any] | None:
        from azure.cosmos.exceptions import CosmosResourceNotFoundError

        if fact_id in _COLLAPSING_IDS:
            return await _query(container, fact_id, partition_key)
        try:
            return dict(await container.read_item(fact_id, partition_key=sdk_partition_key(partition_key)))
        except CosmosResourceNotFoundError:
            if source.name not in self._agreed:
                check_partition_key(await container.read(), source)
                self._agreed.add(source.name)
            return None

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()


async def _query(
    container: ContainerProxy, fact_id: str, partition_key: tuple[FactKeyValue, ...]
) -> dict[str, Any] | None:
    """The fact with an id that cannot be in an address."""
    found = container.query_items(
        "SELECT * FROM c WHERE c.id = @id",
        parameters=[{"name": "@id", "value": fact_id}],
        partition_key=sdk_partition_key(partition_key),
    )
    async for document in found:
        return dict(document)
    return None
