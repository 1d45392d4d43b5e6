"""Finds blobs that no dead letter names: their row was never written, or they were not deleted with it.

A worker that ends between two requests leaves such a blob, and so does a request without an answer. Each run looks at
some of the blobs and goes on where the last one stopped.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from shared.pipeline.concurrency import all_of
from shared.pipeline.dead_letters.rows import BLOB, DEAD_LETTER_TABLE
from shared.tables.port import Continuation, RowRange
from shared.tasks.bookmarks import Bookmark, Bookmarks

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.dead_letters.documents import Blobs, StoredBlob
    from shared.tables.port import Tables

BLOBS_PER_RUN: Final = 20_000
# By then a row that names the blob has long been written, or never will be.
YOUNG_SECONDS: Final = 86_400
_WALK: Final = "dead-letter-blobs"

_log = logging.getLogger(__name__)


class OrphanedBlobs:
    """The blobs of dead letters that are gone."""

    def __init__(self, tables: Tables, blobs: Blobs, run_all: RunAll, now_seconds: Callable[[], float]) -> None:
        self._tables = tables
        self._blobs = blobs
        self._run_all = run_all
        self._now_seconds = now_seconds
        self._bookmarks = Bookmarks(tables, _WALK)

    async def remove(self) -> int:
        """Delete those among the next blobs; return how many."""
        continuation = (await self._bookmarks.read(_WALK)).continuation
        marker = None if continuation is None else continuation.partition
        looked_at, removed = 0, 0
        while looked_at < BLOBS_PER_RUN:
            blobs, marker = await self._blobs.page(marker)
            removed += sum(await all_of(self._run_all, [partial(self._remove_unused, blob) for blob in blobs]))
            looked_at += len(blobs)
            if marker is None:
                break
        await self._bookmarks.keep(_WALK, Bookmark(continuation=None if marker is None else Continuation(marker, None)))
        _log.info("Blobs without a dead letter deleted", extra={"deleted": removed, "looked_at": looked_at})
        return removed

    async def _remove_unused(self, blob: StoredBlob) -> bool:
        if self._now_seconds() - blob.written_at_seconds < YOUNG_SECONDS or await self._is_used(blob.name):
            return False
        await self._blobs.delete(blob.name)
        return True

    async def _is_used(self, name: str) -> bool:
        """Whether the dead letter in whose folder the blob is names it. A blob of another shape is none of ours."""
        source, _, rest = name.partition("/")
        identity, _, rest = rest.partition("/")
        if not rest:
            return True
        rows = RowRange(source, identity, identity, upper_inclusive=True)
        page = await self._tables.query(DEAD_LETTER_TABLE, rows, select=(BLOB,))
        return any(row.entity.get(BLOB) == name for row in page.rows)
