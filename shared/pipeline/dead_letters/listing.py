"""Reading and thinning out the dead letters: pages with filters, one by its id, and purging what is old.

Letters never move, so a page continues after the last row that was looked at. How many rows a page looks at is bounded:
with a narrow filter it may be short, even empty, and still not be the last.
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
    """Which letters are meant; None is any. `reason` is a text that the reason contains, whatever its case."""

    source: str | None = None
    index: str | None = None
    kind: str | None = None
    reason: str | None = None
    failed_before_seconds: float | None = None

    def matches(self, letter: StoredDeadLetter) -> bool:
        """Whether this letter is meant."""
        return (
            self.source in (None, letter.source)
            and self.index in (None, letter.index)
            and self.kind in (None, letter.kind)
            and (self.reason is None or self.reason.casefold() in letter.reason.casefold())
            and (self.failed_before_seconds is None or letter.failed_at_seconds < self.failed_before_seconds)
        )


class ListPosition(NamedTuple):
    """A letter's place in the order of all letters."""

    source: str
    id: str


class DeadLetterPage(NamedTuple):
    """Letters, and the place after which the next page begins; None after the last one."""

    dead_letters: list[StoredDeadLetter]
    last: ListPosition | None


class DeadLetterList:
    """The dead letters of these sources, which may be more than those that are defined now."""

    def __init__(self, tables: Tables, letters: DeadLetterStore) -> None:
        self._tables = tables
        self._letters = letters

    async def page(
        self, sources: Sequence[str], wanted: DeadLetterFilter, size: int, after: ListPosition | None
    ) -> DeadLetterPage:
        """At most `size` letters after a place."""
        found: list[StoredDeadLetter] = []
        looked_at = 0
        async for letter in self._rows(sources, wanted, after):
            looked_at += 1
            if wanted.matches(letter):
                found.append(letter)
            if len(found) == size or looked_at == ROWS_LOOKED_AT_MAX:
                return DeadLetterPage(found, ListPosition(letter.source, letter.id))
        return DeadLetterPage(found, None)

    async def _rows(
        self, sources: Sequence[str], wanted: DeadLetterFilter, after: ListPosition | None
    ) -> AsyncIterator[StoredDeadLetter]:
        for source in sorted(sources):
            if wanted.source not in (None, source) or (after is not None and source < after.source):
                continue
            lower = after.id if after is not None and source == after.source else None
            async for letter in self._rows_of(source, lower):
                yield letter

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
        """The letter with this id, whole; raises `UnknownDeadLetterError`."""
        for source in sorted(sources) if _ID.fullmatch(identity) else ():
            row = await self._tables.get(DEAD_LETTER_TABLE, source, identity)
            if row is not None:
                return stored_dead_letter(row)
        raise UnknownDeadLetterError(
            f"There is no dead letter {value_in_message(identity)}: a later success may have closed it, "
            "or it was replayed or purged. List those that there are."
        )

    async def again(self, letter: StoredDeadLetter) -> StoredDeadLetter | None:
        """The same letter as it is now, whole."""
        row = await self._tables.get(DEAD_LETTER_TABLE, letter.source, letter.id)
        return None if row is None else stored_dead_letter(row)

    async def purge(self, letters: Sequence[StoredDeadLetter]) -> int:
        """Forget letters that are still as they were read; how many. Their facts stay out of the index."""
        return sum([await self._letters.remove(letter.row) for letter in letters])
