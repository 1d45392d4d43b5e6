"""What the functions share in one process: clients made from the settings, the first time they are needed."""

from __future__ import annotations

import asyncio

from shared import settings
from shared.errors import StorageUnreachableError

# A probe answers before the platform that asks gives up on it.
STORAGE_PROBE_SECONDS = 3.0


async def check_storage() -> None:
    """Raise `StorageUnreachableError` unless the index storage answers."""
    from azure.core.exceptions import AzureError

    connection = settings.storage_connection(settings.INDEX_STORAGE.name)
    try:
        async with asyncio.timeout(STORAGE_PROBE_SECONDS):
            await _read_one_table_name(connection)
    except TimeoutError:
        raise StorageUnreachableError(
            f"The connection {settings.INDEX_STORAGE.name} did not answer within {STORAGE_PROBE_SECONDS:g} s; "
            "check that the storage account is up and reachable from here."
        ) from None
    except (AzureError, ValueError) as error:
        raise StorageUnreachableError(f"The connection {settings.INDEX_STORAGE.name} does not work: {error}") from error


async def _read_one_table_name(connection: settings.StorageConnection) -> None:
    from azure.data.tables.aio import TableServiceClient

    if connection.connection_string:
        service = TableServiceClient.from_connection_string(connection.connection_string, retry_total=0)
    else:
        from azure.identity.aio import ManagedIdentityCredential

        service = TableServiceClient(
            endpoint=str(connection.table_endpoint),
            credential=ManagedIdentityCredential(client_id=connection.client_id),
            retry_total=0,
        )
    async with service:
        async for _ in service.list_tables(results_per_page=1):
            return
