"""Dead letters for the status: how many are open, by source, index and kind of failure, with an example of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from shared.errors import TableMissingError
from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE
from shared.tables.port import RowRange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.tables.port import Tables

# One page per source: a status that reads more would be slow exactly when it is needed.
DEAD_LETTERS_MAX: Final = 1000
_FAILURES_MAX: Final = 20


class OpenFailure(NamedTuple):
    """What is wrong with changes of a source; `index_name` is empty for those that could not be read at all."""

    source: str
    index_name: str
    kind: str


@dataclass(frozen=True, slots=True)
class OpenDeadLetters:
    """Open dead letters. `has_more` names the sources that have more than were counted."""

    by_source: dict[str, int] = field(default_factory=dict)
    has_more: frozenset[str] = frozenset()
    # The most frequent failures: the number of dead letters, and the reason of one of them.
    failures: list[tuple[OpenFailure, int, str]] = field(default_factory=list)


async def open_dead_letters(tables: Tables, sources: Iterable[str]) -> OpenDeadLetters:
    """Count the dead letters of these sources."""
    by_source: dict[str, int] = {}
    has_more = set()
    failures: Counter[OpenFailure] = Counter()
    reasons: dict[OpenFailure, str] = {}
    for source in sources:
        try:
            page = await tables.query(
                DEAD_LETTER_TABLE, RowRange(source), limit=DEAD_LETTERS_MAX, select=("index", "kind", "reason")
            )
        except TableMissingError:
            by_source[source] = 0
            continue
        by_source[source] = len(page.rows)
        if page.continuation is not None:
            has_more.add(source)
        for row in page.rows:
            failure = OpenFailure(source, str(row.entity.get("index", "")), str(row.entity.get("kind", "")))
            failures[failure] += 1
            reasons.setdefault(failure, str(row.entity.get("reason", "")))
    most = [(failure, count, reasons[failure]) for failure, count in failures.most_common(_FAILURES_MAX)]
    return OpenDeadLetters(by_source, frozenset(has_more), most)
