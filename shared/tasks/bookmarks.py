"""Bookmarks: how far walks through many rows have come, kept in the catalog, so that each run does a bounded share.

A walk goes round after round. After a crash before its bookmark is kept, or with two runs at once, some rows are looked
at twice; what walks do with a row may be done twice.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from shared.catalog.rows import CATALOG_TABLE
from shared.errors import OperationFailedError
from shared.tables.port import PARTITION_KEY, ROW_KEY, Continuation, Delete, RowRange, Upsert

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.tables.port import Entity, Tables


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Where the next run goes on: in this stretch of everything to walk through, at this continuation of its query.

    At the very beginning it also says when the last round ended.
    """

    stretch: int = 0
    continuation: Continuation | None = None
    ended_at: int = 0

    @classmethod
    def at_end(cls, now_seconds: float) -> Bookmark:
        """A round is over: the next one begins at the beginning."""
        return cls(ended_at=int(now_seconds))

    def is_resting(self, now_seconds: float, rest_seconds: float) -> bool:
        """Whether the last round ended less than this ago, and no other has begun."""
        is_between = self.stretch == 0 and self.continuation is None
        # A clock that went back must not stop a walk for as long.
        return is_between and 0 <= now_seconds - self.ended_at < rest_seconds


class Bookmarks:
    """The bookmarks of one kind of walk, by what is walked through."""

    def __init__(self, tables: Tables, walk: str) -> None:
        self._tables = tables
        self._walk = walk

    async def read(self, name: str) -> Bookmark:
        """Where to go on; at the beginning when nothing is known."""
        row = await self._tables.get(CATALOG_TABLE, self._walk, name)
        return Bookmark() if row is None else _bookmark(row.entity)

    async def forget_others(self, names: Iterable[str]) -> None:
        """Forget every other walk: what it went through is gone, and a bookmark may have a key of a fact."""
        known = {*names}
        page = await self._tables.query(CATALOG_TABLE, RowRange(self._walk), select=("stretch",))
        gone = [str(row.entity[ROW_KEY]) for row in page.rows if row.entity[ROW_KEY] not in known]
        for name in gone:
            with suppress(OperationFailedError):  # another process was faster
                await self._tables.transact(CATALOG_TABLE, [Delete(self._walk, name)])

    async def keep(self, name: str, bookmark: Bookmark) -> None:
        """Go on here the next time."""
        entity: Entity = {PARTITION_KEY: self._walk, ROW_KEY: name}
        entity |= {"stretch": bookmark.stretch, "endedAt": bookmark.ended_at}
        if (continuation := bookmark.continuation) is not None:
            row = {} if continuation.row is None else {"row": continuation.row}
            entity |= {"partition": continuation.partition, **row}
        await self._tables.transact(CATALOG_TABLE, [Upsert(entity)])


def _bookmark(entity: Entity) -> Bookmark:
    continuation = None
    if "partition" in entity:
        continuation = Continuation(cast(str, entity["partition"]), cast("str | None", entity.get("row")))
    # A bookmark of an earlier release has only a continuation.
    return Bookmark(cast(int, entity.get("stretch", 0)), continuation, cast(int, entity.get("endedAt", 0)))
