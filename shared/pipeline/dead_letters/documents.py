"""What a dead letter keeps of its change: in its row, or in a blob when it is large.

Every put has its own blob: a worker that removes a dead letter does not delete the document of one that was put
meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from shared.pipeline.dead_letters.rows import BLOB, DOCUMENT, blob_folder
from shared.pipeline.packing import decompress, put_bytes, take_bytes

if TYPE_CHECKING:
    from shared.pipeline.dead_letters.rows import DeadLetter
    from shared.tables.port import Entity

# Far below the service's 1 MiB: Azurite counts the four thirds that Base64 takes, and the row has other columns.
_IN_ROW_BYTES_MAX: Final = 384 * 1024


class StoredBlob(NamedTuple):
    """A blob as a listing shows it: its name, and when it was written, in seconds since 1970."""

    name: str
    written_at_seconds: float


class Blobs(Protocol):
    """Stores documents that are too large for a row."""

    async def put(self, folder: str, content: bytes) -> str:
        """Store the content in this folder under a name that is never used again; return the name."""

    async def get(self, name: str) -> bytes | None:
        """The content under this name, or None."""

    async def delete(self, name: str) -> None:
        """Delete the content; it may be gone already."""

    async def page(self, continuation: str | None) -> tuple[list[StoredBlob], str | None]:
        """Some of all blobs in the order of their names, and where to go on; None after the last."""


class Documents:
    """The documents of dead letters."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    async def keep(self, entity: Entity, dead_letter: DeadLetter, packed: bytes, *, in_row: bool = True) -> None:
        """Put the packed document into a row that is about to be written, or into a blob that the row names."""
        if in_row and len(packed) <= _IN_ROW_BYTES_MAX:
            put_bytes(entity, DOCUMENT, packed)
        else:
            entity[BLOB] = await self._blobs.put(blob_folder(dead_letter), packed)

    async def content(self, entity: Entity) -> bytes | None:
        """What a row with all its columns keeps of the change; None when the blob is gone."""
        name = entity.get(BLOB)
        packed = await self._blobs.get(name) if isinstance(name, str) else take_bytes(entity, DOCUMENT)
        return None if packed is None else decompress(packed)

    async def forget(self, entity: Entity) -> None:
        """Delete the blob that a row names, if it names one."""
        if isinstance(name := entity.get(BLOB), str):
            await self._blobs.delete(name)
