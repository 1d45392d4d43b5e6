"""Adapters to the SDKs of Storage queues and blobs, for what the pipeline stores outside of tables.

Both create their queue or container when it is missing at the first use.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from azure.storage.blob.aio import ContainerClient
    from azure.storage.queue.aio import QueueClient

    from shared.pipeline.dead_letters.documents import StoredBlob


class DelayedQueue:
    """A Storage queue whose messages become visible after a delay: that of the message, or that of the queue.

    They end by themselves after `life_seconds`; never, without it.
    """

    def __init__(self, client: QueueClient, delay_seconds: int = 0, life_seconds: int | None = None) -> None:
        self._client = client
        self._delay_seconds = delay_seconds
        self._life_seconds = life_seconds

    async def send(self, message: str, delay_seconds: int | None = None) -> None:
        """Store a message; it becomes visible after the delay."""
        from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError

        delay_seconds = self._delay_seconds if delay_seconds is None else delay_seconds
        try:
            await self._send(message, delay_seconds)
        except ResourceNotFoundError:
            with suppress(ResourceExistsError):  # another worker was faster
                await self._client.create_queue()
            await self._send(message, delay_seconds)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _send(self, message: str, delay_seconds: int) -> None:
        await self._client.send_message(
            message, visibility_timeout=delay_seconds, time_to_live=self._life_seconds or -1
        )


class BlobContainer:
    """A container for documents that are too large for a row; `new_id` makes names that are never used twice."""

    def __init__(self, client: ContainerClient, new_id: Callable[[], str]) -> None:
        self._client = client
        self._new_id = new_id

    async def put(self, folder: str, content: bytes) -> str:
        """Store the content in this folder under a name that is never used again; return the name."""
        from azure.core.exceptions import ResourceExistsError, ResourceNotFoundError

        name = f"{folder}/{self._new_id()}"
        try:
            await self._client.upload_blob(name, content, overwrite=True)
        except ResourceNotFoundError:
            with suppress(ResourceExistsError):  # another worker was faster
                await self._client.create_container()
            await self._client.upload_blob(name, content, overwrite=True)
        return name

    async def get(self, name: str) -> bytes | None:
        """The content under this name, or None."""
        from azure.core.exceptions import ResourceNotFoundError

        try:
            blob = await self._client.download_blob(name)
            return await blob.readall()
        except ResourceNotFoundError:
            return None

    async def delete(self, name: str) -> None:
        """Delete the content; it may be gone already."""
        from azure.core.exceptions import ResourceNotFoundError

        with suppress(ResourceNotFoundError):
            await self._client.delete_blob(name)

    async def page(self, continuation: str | None) -> tuple[list[StoredBlob], str | None]:
        """Some of all blobs in the order of their names, and where to go on; None after the last."""
        from azure.core.exceptions import ResourceNotFoundError

        from shared.pipeline.dead_letters.documents import StoredBlob

        pages: Any = self._client.list_blobs().by_page(continuation)
        try:
            found = [StoredBlob(blob.name, blob.last_modified.timestamp()) async for blob in await anext(pages)]
        except (ResourceNotFoundError, StopAsyncIteration):
            return [], None  # nothing was ever put
        return found, pages.continuation_token or None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
