"""Counts what this instance does, by source, index and table; the sums over all instances are in `counter_rows`.

Counting is an addition in memory: nothing here waits or fails. Storage transactions are not counted a second time but
taken from the clients' own counts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from shared.entries.keys.periods import without_period
from shared.entries.keys.placement import DEFAULT_ACCOUNT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shared.pipeline.outcome import BatchOutcome
    from shared.tables.counts import Counts

CountedKind = Literal["source", "index", "table", "account"]
# The purpose of a storage transaction on a table.
Purpose = Literal["changes", "lookups", "operations"]


class Measure(NamedTuple):
    """One thing that is counted: `("source", "customers", "applied")`."""

    kind: CountedKind
    name: str
    what: str


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of all instances together since the first of them, in seconds since 1970; None when there is none."""

    counts: Mapping[Measure, int] = field(default_factory=dict)
    since_seconds: float | None = None
    instances: int = 0

    def of(self, kind: CountedKind, name: str) -> SubjectCounts:
        """The counts of one source, index or table."""
        return SubjectCounts(
            {measure.what: count for measure, count in self.counts.items() if measure[:2] == (kind, name)}
        )

    def names(self, kind: CountedKind) -> set[str]:
        """The names of a kind that have counts."""
        return {measure.name for measure in self.counts if measure.kind == kind}


class SubjectCounts(dict[str, int]):
    """Counts by what they count; 0 for everything else."""

    def __missing__(self, what: str) -> int:
        return 0


# Of a batch, per source; the names are those of `BatchOutcome`.
SOURCE_COUNTS: Final = (
    "received",
    "applied",
    "dropped",
    "dropped_with_higher_lsn",
    "redelivered",
    "dead_letters",
    "dead_letters_not_kept",
    "ignored",
    "transactions",
)


class Counters:
    """What this instance has done so far. `changed` is called after every count, so that it is written soon."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._counted: Counter[Measure] = Counter()
        self._clients: list[tuple[Purpose, str, Counts]] = []
        self._changed = changed

    def watch(self, purpose: Purpose, counts: Counts, account: str = DEFAULT_ACCOUNT) -> None:
        """Include the storage transactions that clients with these counts send to an account from now on."""
        self._clients.append((purpose, account, counts))

    def batch_applied(self, source: str, outcome: BatchOutcome) -> None:
        """A batch of changes was applied."""
        for what in SOURCE_COUNTS:
            self._add("source", source, what, getattr(outcome, what))
        for index, entries in outcome.by_index.items():
            self._add("index", index, "entries_written", entries.written)
            self._add("index", index, "entries_removed", entries.removed)
        self._changed()

    def lookup_answered(self, index: str, rows_read: int, entries: int) -> None:
        """A page of a lookup was answered: so many rows were read, so many entries returned."""
        self._add("index", index, "lookups", 1)
        self._add("index", index, "rows_read", rows_read)
        self._add("index", index, "entries_returned", entries)
        self._changed()

    def now(self) -> Counter[Measure]:
        """Everything that this instance has counted."""
        tally = Counter(self._counted)
        for purpose, account, counts in self._clients:
            for (table, _), sent in counts.by_table_and_kind().items():
                tally[Measure("table", without_period(table), purpose)] += sent
                tally[Measure("account", account, purpose)] += sent
        return tally

    def _add(self, kind: CountedKind, name: str, what: str, amount: int) -> None:
        if amount:
            self._counted[Measure(kind, name, what)] += amount
