"""The blob container of dead letters, in Azurite: it is created at the first use, and lists what it has."""

from __future__ import annotations

import time
from uuid import uuid4

from azure.storage.blob.aio import ContainerClient

from shared.app.queues_and_blobs import BlobContainer


async def test_what_is_put_is_listed_until_it_is_deleted(azurite: str) -> None:
    """A container that is not there has nothing."""
    async with ContainerClient.from_connection_string(azurite, f"c{uuid4().hex}") as client:
        names = iter(["1", "2"])
        container = BlobContainer(client, lambda: next(names))
        assert await container.page(None) == ([], None)
        assert [await container.put(folder, b"x") for folder in ("s/b", "s/a")] == ["s/b/1", "s/a/2"]
        blobs, continuation = await container.page(None)
        assert ([blob.name for blob in blobs], continuation) == (["s/a/2", "s/b/1"], None)
        assert all(abs(time.time() - blob.written_at_seconds) < 600 for blob in blobs)
        await container.delete("s/a/2")
        assert [blob.name for blob in (await container.page(None))[0]] == ["s/b/1"]
