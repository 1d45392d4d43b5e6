"""Ownership and checkpoints of Event Hubs triggers, in blobs that are named as the real extension names them.

.NET files them under the host of the namespace, Python under host and port. Here it is the host alone: a local Event
Hubs on another port goes on where it was, and Core Tools and this host take over from each other.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from azure.core.exceptions import ResourceExistsError
from azure.eventhub.extensions.checkpointstoreblobaio import BlobCheckpointStore

if TYPE_CHECKING:
    from collections.abc import Iterable

    from azure.storage.blob.aio import ContainerClient

_NAMESPACE = "fully_qualified_namespace"
_SEQUENCE_NUMBER = "sequencenumber"


def host_of(namespace: str) -> str:
    """The host of a namespace, without its port."""
    return namespace.partition(":")[0]


class HostCheckpointStore(BlobCheckpointStore):
    """The SDK's store, with blobs that are named by host."""

    async def list_ownership(
        self, fully_qualified_namespace: str, eventhub_name: str, consumer_group: str, **kwargs: Any
    ) -> Iterable[dict[str, Any]]:
        """Who owns which partition."""
        namespace = host_of(fully_qualified_namespace)
        return await super().list_ownership(namespace, eventhub_name, consumer_group, **kwargs)

    async def claim_ownership(
        self, ownership_list: Iterable[dict[str, Any]], **kwargs: Any
    ) -> Iterable[dict[str, Any]]:
        """Take partitions; gives those that could be taken."""
        return await super().claim_ownership([_by_host(ownership) for ownership in ownership_list], **kwargs)

    async def update_checkpoint(self, checkpoint: dict[str, Any], **kwargs: Any) -> None:
        """Note how far a partition was read."""
        await super().update_checkpoint(_by_host(checkpoint), **kwargs)

    async def list_checkpoints(
        self, fully_qualified_namespace: str, eventhub_name: str, consumer_group: str, **kwargs: Any
    ) -> Iterable[dict[str, Any]]:
        """How far each partition was read."""
        namespace = host_of(fully_qualified_namespace)
        return await super().list_checkpoints(namespace, eventhub_name, consumer_group, **kwargs)


def _by_host(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, _NAMESPACE: host_of(row[_NAMESPACE])}


async def take_over_checkpoints_by_port(container: ContainerClient, host: str, hub: str, group: str) -> None:
    """Copy the checkpoints that earlier versions named by host and port to their names by host, unless these exist.

    Without them a trigger that starts at the end would skip events. Of several ports the one that had read least
    counts: events may come again, and none is lost.
    """
    found: dict[str, dict[str, str]] = {}
    marker = f"/{hub}/{group}/checkpoint/".lower()
    async for blob in container.list_blobs(name_starts_with=f"{host}:".lower(), include=["metadata"]):
        _, is_checkpoint, partition = blob.name.partition(marker)
        metadata = blob.metadata or {}
        if is_checkpoint and _sequence(metadata) < _sequence(found.get(partition)):
            found[partition] = metadata
    for partition, metadata in found.items():
        with contextlib.suppress(ResourceExistsError):
            await container.upload_blob(f"{host.lower()}{marker}{partition}", b"", metadata=metadata, overwrite=False)


def _sequence(metadata: dict[str, str] | None) -> float:
    """The sequence number in a checkpoint; beyond every number without one."""
    number = (metadata or {}).get(_SEQUENCE_NUMBER)
    return int(number) if number else float("inf")
