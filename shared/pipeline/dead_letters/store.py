"""Dead letters: changes that cannot be read or projected, kept with their reason and all that a replay needs.

A fact has at most one dead letter per index: a redelivery adds no second one, a newer failure replaces it, and a later
success closes it. A document that is too large for a row goes into a blob.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from shared.errors import OperationFailedError, StorageUnavailableError
from shared.pipeline.dead_letters.rows import (
    BLOB,
    DEAD_LETTER_TABLE,
    DOCUMENT,
    FAILED_AT,
    blob_folder,
    to_entity,
    version_of,
)
from shared.pipeline.packing import compress, decompress, put_bytes, take_bytes
from shared.tables.port import PARTITION_KEY, ROW_KEY, Delete, Insert, Replace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from shared.pipeline.dead_letters.rows import DeadLetter
    from shared.tables.port import Entity, Row, Tables

_ROW_BYTES_MAX: Final = 800 * 1024
_ATTEMPTS: Final = 10


class Blobs(Protocol):
    """Stores documents that are too large for a row."""

    async def put(self, folder: str, content: bytes) -> str:
        """Store the content in this folder under a name that is never used again; return the name."""

    async def get(self, name: str) -> bytes | None:
        """The content under this name, or None."""

    async def delete(self, name: str) -> None:
        """Delete the content; it may be gone already."""


class DeadLetterStore:
    """The dead letters of all sources."""

    def __init__(self, tables: Tables, blobs: Blobs, now_seconds: Callable[[], float]) -> None:
        self._tables = tables
        self._blobs = blobs
        self._now_seconds = now_seconds

    async def put(self, dead_letter: DeadLetter) -> None:
        """Store a dead letter, unless there is one of a newer version. If there is one of the same version, the new one
        keeps its time: it is the same failure, seen again.

        Every put has its own blob: a worker that removes the previous dead letter does not delete the document of this
        one.
        """
        entity = await self._entity(dead_letter)
        for _ in range(_ATTEMPTS):
            old = await self._tables.get(DEAD_LETTER_TABLE, dead_letter.source, dead_letter.id)
            if old is not None and version_of(old) > dead_letter.version:
                await self._forget_blob(entity)
                return
            failed_at = None if old is None or version_of(old) != dead_letter.version else old.entity.get(FAILED_AT)
            entity[FAILED_AT] = int(self._now_seconds()) if failed_at is None else failed_at
            try:
                operation = Insert(entity) if old is None else Replace(entity, old.etag)
                await self._tables.transact(DEAD_LETTER_TABLE, [operation])
            except OperationFailedError:
                continue  # another worker wrote it in between: read it again
            if old is not None:
                await self._forget_blob(old.entity)
            return
        await self._forget_blob(entity)
        raise _contended(dead_letter.source)

    async def close(self, source: str, identity: str, is_due: Callable[[str], Awaitable[bool]]) -> None:
        """Delete the dead letter unless its version is due.

        `is_due` is called after the dead letter was read. A worker that makes the version due again after that puts the
        dead letter again, which changes its ETag: then it is not deleted here.
        """
        for _ in range(_ATTEMPTS):
            old = await self._tables.get(DEAD_LETTER_TABLE, source, identity)
            if old is None or await is_due(version_of(old)) or await self.remove(old):
                return
        raise _contended(source)

    async def remove(self, row: Row) -> bool:
        """Delete a dead letter and its blob if it has not changed since it was read; return whether it was deleted."""
        partition, identity = str(row.entity[PARTITION_KEY]), str(row.entity[ROW_KEY])
        try:
            await self._tables.transact(DEAD_LETTER_TABLE, [Delete(partition, identity, row.etag)])
        except OperationFailedError:
            return False
        await self._forget_blob(row.entity)
        return True

    async def content(self, row: Row) -> bytes | None:
        """What a row with all its columns keeps of the change; None when the blob is gone."""
        name = row.entity.get(BLOB)
        packed = await self._blobs.get(name) if isinstance(name, str) else take_bytes(row.entity, DOCUMENT)
        return await self._content_put_again(row) if packed is None else decompress(packed)

    async def _content_put_again(self, row: Row) -> bytes | None:
        """The same from the dead letter as it is now, if the same version was put again after the row was read."""
        now = await self._tables.get(DEAD_LETTER_TABLE, str(row.entity[PARTITION_KEY]), str(row.entity[ROW_KEY]))
        if now is None or now.etag == row.etag or version_of(now) != version_of(row):
            return None
        return await self.content(now)

    async def _entity(self, dead_letter: DeadLetter) -> Entity:
        entity = to_entity(dead_letter)
        packed = compress(dead_letter.content)
        if len(packed) <= _ROW_BYTES_MAX:
            put_bytes(entity, DOCUMENT, packed)
        else:
            entity[BLOB] = await self._blobs.put(blob_folder(dead_letter), packed)
        return entity

    async def _forget_blob(self, entity: Entity) -> None:
        if isinstance(name := entity.get(BLOB), str):
            await self._blobs.delete(name)


def _contended(source: str) -> StorageUnavailableError:
    return StorageUnavailableError(
        f'A dead letter of source "{source}" changes all the time: try again later.', outcome_unknown=False
    )
