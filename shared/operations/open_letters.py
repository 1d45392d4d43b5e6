"""Dead letters as a status shows them: how many wait, by source, index and reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from shared.errors import TableMissingError
from shared.pipeline.dead_letter_rows import DEAD_LETTER_TABLE
from shared.tables.port import RowRange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.tables.port import Tables

# One page per source: a status that reads more would be slow exactly when there is trouble.
LETTERS_MAX: Final = 1000
_REASONS_MAX: Final = 20


class Reason(NamedTuple):
    """Why changes of a source are dead letters; `index_name` is empty for those that could not be read at all."""

    source: str
    index_name: str
    text: str


@dataclass(frozen=True, slots=True)
class OpenLetters:
    """Dead letters that wait. When there are more of a source than were counted, `has_more` names it."""

    by_source: dict[str, int] = field(default_factory=dict)
    has_more: frozenset[str] = frozenset()
    reasons: list[tuple[Reason, int]] = field(default_factory=list)


async def open_letters(tables: Tables, sources: Iterable[str]) -> OpenLetters:
    """Count the letters of these sources."""
    by_source: dict[str, int] = {}
    has_more = set()
    reasons: Counter[Reason] = Counter()
    for source in sources:
        try:
            page = await tables.query(
                DEAD_LETTER_TABLE, RowRange(source), limit=LETTERS_MAX, select=("index", "reason")
            )
        except TableMissingError:
            by_source[source] = 0
            continue
        by_source[source] = len(page.rows)
        if page.continuation is not None:
            has_more.add(source)
        for row in page.rows:
            reasons[Reason(source, str(row.entity.get("index", "")), str(row.entity.get("reason", "")))] += 1
    return OpenLetters(by_source, frozenset(has_more), reasons.most_common(_REASONS_MAX))
