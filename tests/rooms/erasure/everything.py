"""Everything that a storage account holds, byte for byte, also what is packed."""

from __future__ import annotations

import base64
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from azure.data.tables import TableServiceClient
from azure.storage.blob import BlobServiceClient
from azure.storage.queue import QueueServiceClient

from shared.pipeline.packing import decompress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import timedelta

    from azure.storage.queue import QueueMessage

    from shared.tables.memory.memory_tables import MemoryTables


def places_with(connection_string: str, secret: bytes) -> list[str]:
    """Where in the account a secret is found: names of tables, queues and containers."""
    return sorted({place for place, content in everything(connection_string) if secret in content})


def everything(connection_string: str) -> Iterator[tuple[str, bytes]]:
    """Every property, message and blob, with the name of its table, queue or container."""
    with TableServiceClient.from_connection_string(connection_string) as tables:
        for table in tables.list_tables():
            for entity in tables.get_table_client(table.name).list_entities():
                yield from ((table.name, piece) for piece in of_row(entity))
    with QueueServiceClient.from_connection_string(connection_string) as queues:
        for queue in queues.list_queues():
            for message in queues.get_queue_client(queue.name).peek_messages(32):
                yield queue.name, message.content.encode()
                yield queue.name, base64.b64decode(message.content)
    with BlobServiceClient.from_connection_string(connection_string) as blobs:
        for container in blobs.list_containers():
            client = blobs.get_container_client(container.name)
            for blob in client.list_blobs():
                yield container.name, blob.name.encode()
                yield from ((container.name, piece) for piece in _unpacked(client.download_blob(blob.name).readall()))


def tables_with(tables: MemoryTables, secret: bytes) -> set[str]:
    """Which tables in memory have a secret."""
    store = tables.store
    return {
        table
        for table in store.tables()
        for partition in store.partition_keys(table)
        for key in store.partition(table, partition)
        if (row := store.get(table, partition, key)) is not None
        if any(secret in piece for piece in of_row(row.entity))
    }


def life_of(message: QueueMessage) -> timedelta:
    """How long its queue keeps a message."""
    assert message.inserted_on is not None
    assert message.expires_on is not None
    return message.expires_on - message.inserted_on


def of_row(entity: Mapping[str, Any]) -> Iterator[bytes]:
    """Every property of a row, also what is packed, in one property or in several."""
    packed: dict[str, bytes] = {}
    for name, value in entity.items():
        yield f"{name}={value}".encode()
        if isinstance(value, bytes):
            first = name.partition("_")[0]
            packed[first] = packed.get(first, b"") + value
    for content in packed.values():
        yield from _unpacked(content)


def _unpacked(content: bytes) -> Iterator[bytes]:
    yield content
    with suppress(Exception):  # most bytes are not packed
        yield decompress(content)
