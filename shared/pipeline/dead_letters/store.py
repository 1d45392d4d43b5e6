"""Dead letters: changes that cannot be read or projected, kept with their reason and all that a replay needs.

A fact has at most one dead letter per index: a redelivery adds no second one, a newer failure replaces it, and a later
success closes it. A document that is too large for a row goes into a blob.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.errors import OperationFailedError
from shared.pipeline.dead_letters.documents import Documents
from shared.pipeline.dead_letters.put import ATTEMPTS, DeadLetterPuts, contended_error
from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE, version_of
from shared.tables.port import PARTITION_KEY, ROW_KEY, Delete

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.dead_letters.documents import Blobs
    from shared.pipeline.dead_letters.open_limit import OpenLimit
    from shared.pipeline.dead_letters.put import PutResult
    from shared.pipeline.dead_letters.rows import DeadLetter
    from shared.tables.port import Row, Tables


class DeadLetterStore:
    """The dead letters of all sources."""

    def __init__(
        self, tables: Tables, blobs: Blobs, limit: OpenLimit, run_all: RunAll, now_seconds: Callable[[], float]
    ) -> None:
        self._tables = tables
        self._documents = Documents(blobs)
        self._puts = DeadLetterPuts(tables, self._documents, limit, run_all, now_seconds)

    async def put_all(self, source: str, dead_letters: Iterable[DeadLetter]) -> PutResult:
        """Store dead letters of a source, except where there is one of a newer version."""
        return await self._puts.put(source, dead_letters)

    async def put(self, dead_letter: DeadLetter) -> None:
        """Store a dead letter, unless there is one of a newer version."""
        for error in (await self.put_all(dead_letter.source, [dead_letter])).failures.values():
            raise error

    async def close(self, source: str, identity: str, is_due: Callable[[str], Awaitable[bool]]) -> bool:
        """Delete the dead letter unless its version is due; return whether it was deleted.

        `is_due` is called after the dead letter was read. A worker that makes the version due again after that puts the
        dead letter again, which changes its ETag: then it is not deleted here.
        """
        for _ in range(ATTEMPTS):
            old = await self._tables.get(DEAD_LETTER_TABLE, source, identity)
            if old is None or await is_due(version_of(old)):
                return False
            if await self.remove(old):
                return True
        raise contended_error(source)

    async def remove(self, row: Row) -> bool:
        """Delete a dead letter and its blob if it has not changed since it was read; return whether it was deleted."""
        partition, identity = str(row.entity[PARTITION_KEY]), str(row.entity[ROW_KEY])
        try:
            await self._tables.transact(DEAD_LETTER_TABLE, [Delete(partition, identity, row.etag)])
        except OperationFailedError:
            return False
        await self._documents.forget(row.entity)
        return True

    async def content(self, row: Row) -> bytes | None:
        """What a row with all its columns keeps of the change; None when the blob is gone."""
        content = await self._documents.content(row.entity)
        return await self._content_put_again(row) if content is None else content

    async def _content_put_again(self, row: Row) -> bytes | None:
        """The same from the dead letter as it is now, if the same version was put again after the row was read."""
        now = await self._tables.get(DEAD_LETTER_TABLE, str(row.entity[PARTITION_KEY]), str(row.entity[ROW_KEY]))
        if now is None or now.etag == row.etag or version_of(now) != version_of(row):
            return None
        return await self.content(now)
