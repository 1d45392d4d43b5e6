"""A lease that a host holds on a blob: what goes wrong with it, or under it, comes out as itself."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING

import pytest
from azure.core.exceptions import AzureError, ServiceRequestError
from azure.storage.blob.aio import BlobServiceClient

from local.host.errors import LeaseLostError
from local.host.triggers import blob_leases

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from azure.storage.blob.aio import BlobClient


@pytest.fixture
async def blob(azurite: str) -> AsyncIterator[BlobClient]:
    """A blob to lease."""
    async with BlobServiceClient.from_connection_string(azurite) as service:
        container = service.get_container_client("leases")
        blob = container.get_blob_client(uuid.uuid4().hex)
        await blob_leases.create_if_absent(container, blob)
        yield blob


async def test_only_one_holds_it(blob: BlobClient) -> None:
    """The other gets none, and one when the first has let go."""
    async with blob_leases.held(blob) as first, blob_leases.held(blob) as second:
        assert (first is not None, second) == (True, None)
    async with blob_leases.held(blob) as third:
        assert third is not None


async def test_a_storage_fault_under_the_lease_comes_out_as_itself(blob: BlobClient) -> None:
    """A group of one would pass by those who wait for storage faults, and end the host."""
    with pytest.raises(AzureError):
        async with blob_leases.held(blob):
            raise ServiceRequestError("storage is down")


async def test_a_lease_that_is_lost_breaks_off_what_it_is_held_for(
    blob: BlobClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody broke it."""
    monkeypatch.setattr(blob_leases, "RENEW_SECONDS", 0.01)
    with pytest.raises(LeaseLostError):
        async with blob_leases.held(blob) as lease:
            assert lease is not None
            await lease.break_lease(0)
            await asyncio.Event().wait()
