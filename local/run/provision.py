"""What the definitions need to find: in Azure the templates and the app create it, here this does.

Databases, containers with the partition keys that the sources declare, a lease container per database, tables.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from azure.cosmos import PartitionKey
from azure.cosmos.aio import CosmosClient
from azure.cosmos.exceptions import CosmosHttpResponseError

from local.process.errors import LocalRunError
from shared.app.app import app
from shared.app.connection_settings import StorageConnection
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.errors import StorageUnavailableError
from shared.pipeline.apply.write_plans import needed_tables
from shared.sources.partition_key import partition_key_paths
from shared.sources.trigger_leases import LEASE_CONTAINER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from azure.cosmos.aio import DatabaseProxy

    from shared.definitions.model import Definitions

# An account of a placement that gives no answer for so long is left to the app, which makes what is missing later.
_PATIENCE_SECONDS: Final = 3.0


async def provision_cosmos(endpoint: str, key: str, definitions: Definitions) -> None:
    """Create what is missing; what is there stays as it is. Raises `LocalRunError` for what cannot be created."""
    async with CosmosClient(endpoint, key) as client:
        for source in definitions.sources.values():
            if source.cosmos is None:
                continue
            try:
                database = await client.create_database_if_not_exists(source.cosmos.database)
                await _create(database, LEASE_CONTAINER, ["/id"])
                await _create(database, source.cosmos.container, partition_key_paths(source))
            except CosmosHttpResponseError as error:
                reason = str(error).partition("\n")[0]
                raise LocalRunError(f"The container of source {source.name} cannot be created: {reason}") from error


async def provision_tables(connection_strings: Mapping[str, str], definitions: Definitions) -> list[str]:
    """Create all tables, by the connection of their account, so that they exist from the start. Return the connections
    of placements that are down: without the account of the ledger nothing can start."""
    down = []
    for name, text in connection_strings.items():
        tables = sorted(table for account, table in needed_tables(definitions) if account == name)
        if name == DEFAULT_ACCOUNT:
            await _create_tables(name, text, tables)
            continue
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await _create_tables(name, text, tables)
        except (TimeoutError, StorageUnavailableError):
            down.append(name)
    return down


async def _create_tables(name: str, connection_string: str, tables: Iterable[str]) -> None:
    async with app().connections.table_client(StorageConnection(name, connection_string=connection_string)) as client:
        for table in tables:
            await client.create_table(table)


def placed_connections(definitions: Definitions) -> set[str]:
    """The connections that placements name, besides that of the index storage itself."""
    return {account for account, _ in needed_tables(definitions)} - {DEFAULT_ACCOUNT}


async def _create(database: DatabaseProxy, name: str, paths: list[str]) -> None:
    key = PartitionKey(paths[0]) if len(paths) == 1 else PartitionKey(paths, kind="MultiHash")
    await database.create_container_if_not_exists(name, key)
