"""How many dead letters an index may have open: a flood of changes that do not fit must not fill the storage.

Beyond the limit changes are counted instead of kept. The limit is not exact. Every process counts the stored dead
letters from time to time, and in between adds those that it has put itself.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE
from shared.tables.port import RowRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shared.pipeline.dead_letters.rows import DeadLetter
    from shared.tables.port import Tables

OPEN_MAX: Final = 10_000
# What a process may put without having counted: most put nothing, or a few.
_UNCOUNTED_MAX: Final = 100
# What it may put until it counts again: others put, too.
_PUT_BETWEEN_COUNTS: Final = 1000
_FULL_SECONDS: Final = 60


@dataclass(slots=True)
class _Open:
    """The open dead letters of a source by index, as counted then, and what was put since."""

    by_index: Counter[str] = field(default_factory=Counter)
    put_since: int = 0
    counted_at_seconds: float | None = None


class OpenLimit:
    """Keeps the dead letters of every index of every source at most about this many."""

    def __init__(self, open_max: int = OPEN_MAX) -> None:
        self._open_max = open_max
        self._sources: dict[str, _Open] = {}

    async def beyond(
        self, tables: Tables, source: str, dead_letters: Sequence[DeadLetter], now_seconds: float
    ) -> set[str]:
        """The ids of those for which there is no room. The others count as put."""
        if dead_letters and self._must_count(source, {dead_letter.index for dead_letter in dead_letters}, now_seconds):
            self._sources[source] = await _counted(tables, source, now_seconds)
        known = self._sources.setdefault(source, _Open())
        too_many = set()
        for dead_letter in dead_letters:
            if known.by_index[dead_letter.index] >= self._open_max:
                too_many.add(dead_letter.id)
            else:
                known.by_index[dead_letter.index] += 1
                known.put_since += 1
        return too_many

    def _must_count(self, source: str, indexes: Iterable[str], now_seconds: float) -> bool:
        known = self._sources.get(source, _Open())
        if known.counted_at_seconds is None:
            return known.put_since >= min(_UNCOUNTED_MAX, self._open_max)
        if any(known.by_index[index] >= self._open_max for index in indexes):
            # What was put since may have replaced others, and others may have been closed.
            return known.put_since > 0 or abs(now_seconds - known.counted_at_seconds) >= _FULL_SECONDS
        return known.put_since >= _PUT_BETWEEN_COUNTS


async def _counted(tables: Tables, source: str, now_seconds: float) -> _Open:
    by_index: Counter[str] = Counter()
    continuation = None
    while True:
        page = await tables.query(DEAD_LETTER_TABLE, RowRange(source), select=("index",), continuation=continuation)
        by_index.update(str(row.entity.get("index", "")) for row in page.rows)
        continuation = page.continuation
        if continuation is None:
            return _Open(by_index, 0, now_seconds)
