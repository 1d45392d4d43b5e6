"""What the definitions need to find: in Azure the templates create it, here this does.

Databases, containers with the partition keys that the sources declare, and a lease container per database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from azure.cosmos import PartitionKey
from azure.cosmos.aio import CosmosClient

from shared.definitions.dotted import segments

if TYPE_CHECKING:
    from azure.cosmos.aio import DatabaseProxy

    from shared.definitions.model import Definitions, Source

LEASE_CONTAINER = "leases"


async def provision_cosmos(endpoint: str, key: str, definitions: Definitions) -> None:
    """Create what is missing; what is there stays as it is."""
    async with CosmosClient(endpoint, key) as client:
        for source in definitions.sources.values():
            if source.cosmos is None:
                continue
            database = await client.create_database_if_not_exists(source.cosmos.database)
            await _create(database, LEASE_CONTAINER, ["/id"])
            await _create(database, source.cosmos.container, partition_key_paths(source))


def partition_key_paths(source: Source) -> list[str]:
    """The partition key of a source's container; one that declares none has `/id`."""
    return ["/" + "/".join(segments(path) or (path,)) for path in source.partition_key] or ["/id"]


async def _create(database: DatabaseProxy, name: str, paths: list[str]) -> None:
    key = PartitionKey(paths[0]) if len(paths) == 1 else PartitionKey(paths, kind="MultiHash")
    await database.create_container_if_not_exists(name, key)
