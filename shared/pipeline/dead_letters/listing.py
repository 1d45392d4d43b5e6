"""Reads dead letters, page by page with a filter or by id, and purges old ones.

Dead letters never change their keys, so a page continues after the last row that was read. A page reads a bounded
number of rows: with a narrow filter it may be short, even empty, and still not be the last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from shared.entries.changes.shown_values import value_in_message
from shared.errors import UnknownDeadLetterError
from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE, SUMMARY, stored_dead_letter
from shared.tables.port import RowRange

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from shared.pipeline.dead_letters.rows import StoredDeadLetter
    from shared.pipeline.dead_letters.store import DeadLetterStore
    from shared.tables.port import Tables

ROWS_LOOKED_AT_MAX: Final = 5000
_ID: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)


@dataclass(frozen=True, slots=True)
class DeadLetterFilter:
    """Which dead letters to list; None matches all. `reason` is a part of the reason, in upper or lower case."""

    source: str | None = None
    index: str | None = None
    kind: str | None = None
    reason: str | None = None
    failed_before_seconds: float | None = None

    def matches(self, dead_letter: StoredDeadLetter) -> bool:
        """Whether the filter includes this dead letter."""
        return (
            self.source in (None, dead_letter.source)
            and self.index in (None, dead_letter.index)
            and self.kind in (None, dead_letter.kind)
            and (self.reason is None or self.reason.casefold() in dead_letter.reason.casefold())
            and (self.failed_before_seconds is None or dead_letter.failed_at_seconds < self.failed_before_seconds)
        )


class ListPosition(NamedTuple):
    """A position in the list of all dead letters."""

    source: str
    id: str


class DeadLetterPage(NamedTuple):
    """Dead letters, and the position after which the next page begins; None after the last page."""

    dead_letters: list[StoredDeadLetter]
    last: ListPosition | None


class DeadLetterList:
    """Lists dead letters of given sources, also of sources that are no longer defined."""

    def __init__(self, tables: Tables, store: DeadLetterStore) -> None:
        self._tables = tables
        self._store = store

    async def page(
        self, sources: Sequence[str], wanted: DeadLetterFilter, size: int, after: ListPosition | None
    ) -> DeadLetterPage:
        """At most `size` dead letters after a position."""
        found: list[StoredDeadLetter] = []
        looked_at = 0
        async for dead_letter in self._rows(sources, wanted, after):
            looked_at += 1
            if wanted.matches(dead_letter):
                found.append(dead_letter)
            if len(found) == size or looked_at == ROWS_LOOKED_AT_MAX:
                return DeadLetterPage(found, ListPosition(dead_letter.source, dead_letter.id))
        return DeadLetterPage(found, None)

    async def _rows(
        self, sources: Sequence[str], wanted: DeadLetterFilter, after: ListPosition | None
    ) -> AsyncIterator[StoredDeadLetter]:
        for source in sorted(sources):
            if wanted.source not in (None, source) or (after is not None and source < after.source):
                continue
            lower = after.id if after is not None and source == after.source else None
            async for dead_letter in self._rows_of(source, lower):
                yield dead_letter

    async def _rows_of(self, source: str, lower: str | None) -> AsyncIterator[StoredDeadLetter]:
        continuation = None
        while True:
            rows = RowRange(source, lower, lower_inclusive=False)
            page = await self._tables.query(DEAD_LETTER_TABLE, rows, select=SUMMARY, continuation=continuation)
            for row in page.rows:
                yield stored_dead_letter(row)
            continuation = page.continuation
            if continuation is None:
                return

    async def find(self, sources: Sequence[str], identity: str) -> StoredDeadLetter:
        """The dead letter with this id, with all columns; raises `UnknownDeadLetterError`."""
        for source in sorted(sources) if _ID.fullmatch(identity) else ():
            row = await self._tables.get(DEAD_LETTER_TABLE, source, identity)
            if row is not None:
                return stored_dead_letter(row)
        raise UnknownDeadLetterError(
            f"There is no dead letter {value_in_message(identity)}: a later success may have closed it, "
            "or it was replayed or purged. List those that there are."
        )

    async def read_again(self, dead_letter: StoredDeadLetter) -> StoredDeadLetter | None:
        """The same dead letter as it is now, with all columns; None when it is gone."""
        row = await self._tables.get(DEAD_LETTER_TABLE, dead_letter.source, dead_letter.id)
        return None if row is None else stored_dead_letter(row)

    async def purge(self, dead_letters: Sequence[StoredDeadLetter]) -> int:
        """Delete dead letters that have not changed since they were read; return how many. Their facts stay out of the
        index."""
        return sum([await self._store.remove(dead_letter.row) for dead_letter in dead_letters])
