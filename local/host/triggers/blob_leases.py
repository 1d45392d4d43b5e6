"""Singletons among hosts: a lease on a blob, held by one host at a time and renewed while it lives."""

from __future__ import annotations

import asyncio
import contextlib
from http import HTTPStatus
from typing import TYPE_CHECKING

from azure.core.exceptions import AzureError, HttpResponseError, ResourceExistsError

from local.host.errors import LeaseLostError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from azure.storage.blob.aio import BlobClient, BlobLeaseClient, ContainerClient

# The shortest lease that the service grants: how long a timer stands still when its host is killed.
LEASE_SECONDS = 15
# Often enough that one failed renewal does not lose the lease.
RENEW_SECONDS = 5.0


async def create_if_absent(container: ContainerClient, blob: BlobClient) -> None:
    """Make sure that there is a blob to lease."""
    with contextlib.suppress(ResourceExistsError):
        await container.create_container()
    with contextlib.suppress(ResourceExistsError):
        await blob.upload_blob(b"{}", overwrite=False)


@contextlib.asynccontextmanager
async def held(blob: BlobClient) -> AsyncIterator[BlobLeaseClient | None]:
    """A lease on `blob` that is renewed until the block ends; none when another host holds it.

    A block whose lease cannot be renewed is broken off with `LeaseLostError`; its own `AzureError` comes as it is.
    """
    try:
        lease = await blob.acquire_lease(lease_duration=LEASE_SECONDS)
    except HttpResponseError as error:
        if error.status_code != HTTPStatus.CONFLICT:
            raise
        yield None
        return
    try:
        async with asyncio.TaskGroup() as group:
            renewing = group.create_task(_renew(lease))
            yield lease
            renewing.cancel()
    except* (LeaseLostError, AzureError) as failed:
        # Of a storage fault in the block, too: callers wait for the fault itself, not for a group of one.
        raise failed.exceptions[0] from None
    finally:
        with contextlib.suppress(AzureError):
            await lease.release()


async def _renew(lease: BlobLeaseClient) -> None:
    while True:
        await asyncio.sleep(RENEW_SECONDS)
        try:
            await lease.renew()
        except AzureError as error:
            raise LeaseLostError(f"The lease could not be renewed: {error}") from error
