"""One page: rows in order, judged one by one, until the page is full or has cost what it may.

A page passes over rows that count for nothing: tombstones, what has expired, what a filter does not hold for. It ends
after the last row that it has passed, so that the next one begins there. What ends a page before it is full: no more
rows may be read, its answer has reached its size, or the filter has done all the work that a call may cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, cast

from shared.entries.changes.step_budget import OutOfStepsError, StepBudget
from shared.entries.keys.limits import VERSION_UNITS
from shared.entries.rows.entry_row import is_expired, is_tombstone
from shared.errors import BadLookupError
from shared.inputs.faults import fault
from shared.lookup.reading.merge import Position
from shared.tables.port import PARTITION_KEY, ROW_KEY

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from shared.lookup.reading.groups import MergedGroups
    from shared.lookup.reading.merge import MergedRow, MergedRows, Ordered
    from shared.lookup.reading.results import ShownEntry
    from shared.lookup.reading.stretches import NewestRow

ANSWER_BYTES_MAX: Final = 4 * 1024 * 1024


@dataclass(slots=True)
class CallBudget:
    """What one call may answer and cost, over all of its lookups."""

    bytes_left: int = ANSWER_BYTES_MAX
    _steps: StepBudget | None = None
    _has_facts: bool = False

    @property
    def steps(self) -> StepBudget:
        """What filters may still cost; made with the first of them."""
        if self._steps is None:
            self._steps = StepBudget()
        return self._steps

    @property
    def is_untouched(self) -> bool:
        """Whether nothing has been answered yet: then an entry of any size is."""
        return self.bytes_left == ANSWER_BYTES_MAX

    def takes_fact(self, size: int) -> bool:
        """Whether a fact of this size is answered, too: then its bytes are taken. The first of a call always is."""
        if size > self.bytes_left and self._has_facts:
            return False
        self._has_facts = self._has_facts or size > 0
        self.bytes_left -= size
        return True

    def give_back(self, entries: Sequence[TakenEntry]) -> None:
        """Entries that were taken are not answered after all. Other lookups of the call may have taken more since."""
        self.bytes_left += sum(each.entry.size for each in entries)


class HiddenRow(NamedTuple):
    """A tombstone in a table of a period: what it hides may be in another period now."""

    entry_key: str
    table: str
    version: str
    partition_key: str


class TakenEntry(NamedTuple):
    """An entry of a page, and where it stands."""

    position: Position
    entry: ShownEntry


@dataclass(frozen=True, slots=True)
class RowPage:
    """The entries of a page in order. The next page begins after `end`, None on the last one.

    `hidden` are the tombstones that the page passes, of an index with tables per period.
    """

    taken: tuple[TakenEntry, ...] = ()
    end: Position | None = None
    has_more: bool = False
    is_secondary: bool = False
    rows_read: int = 0
    hidden: tuple[tuple[Position, HiddenRow], ...] = ()

    def cut_after(self, number: int, before: Position | None) -> RowPage:
        """The page with its first entries only; it ends where the last of them stands, or where it began."""
        end = self.taken[number - 1].position if number else before
        return replace(self, taken=self.taken[:number], end=end, has_more=True)

    def before(self, hidden: Collection[HiddenRow], order: Ordered) -> RowPage | None:
        """The page as if it ended before the first of these; None when nothing is left of it."""
        first: Any = min(order(*position) for position, row in self.hidden if row in hidden)
        taken = tuple(each for each in self.taken if order(*each.position) < first)
        passed = [each.position for each in taken] + [
            position for position, _ in self.hidden if order(*position) < first
        ]
        if not passed:
            return None
        return replace(self, taken=taken, end=max(passed, key=lambda position: order(*position)), has_more=True)


class Judge(Protocol):
    """Says what a current row is to a lookup."""

    def __call__(self, row: NewestRow) -> ShownEntry | None:
        """The entry as it is shown, or None when it was not asked for. May raise `OutOfStepsError`."""


class _FullError(Exception):
    """The page ends before this row."""


class PageReader:
    """Reads one page of at most `size` entries. `now_seconds` measures expiry; None where entries do not expire."""

    def __init__(
        self,
        rows: MergedRows | MergedGroups,
        judge: Judge,
        size: int,
        budget: CallBudget,
        now_seconds: float | None,
        *,
        notes_hidden: bool,
        is_alone: bool,
    ) -> None:
        self._rows = rows
        self._judge = judge
        self._size = size
        self._budget = budget
        self._now_seconds = now_seconds
        self._notes_hidden = notes_hidden
        self._taken: list[TakenEntry] = []
        self._hidden: list[tuple[Position, HiddenRow]] = []
        self._end: Position | None = None
        self._is_alone = is_alone

    async def read(self, before: Position | None) -> RowPage:
        """The page after a position, or the first one. A page that passes nothing ends where it begins."""
        has_more = self._budget.bytes_left <= 0
        try:
            while not has_more and (rows := await self._rows.next_rows()):
                gone = [is_tombstone(merged.row.entity) for merged in rows]
                for merged, is_gone in zip(rows, gone, strict=True):
                    self._pass(merged, is_gone=is_gone)
                has_more = len(self._taken) == self._size and self._rows.has_more
        except _FullError:
            has_more = True
        has_more = has_more or self._rows.has_more
        return RowPage(
            tuple(self._taken),
            self._end or before,
            has_more,
            self._rows.is_secondary,
            self._rows.rows_read,
            tuple(self._hidden),
        )

    def _pass(self, merged: MergedRow, *, is_gone: bool) -> None:
        if len(self._taken) == self._size:
            raise _FullError
        row = merged.row
        position = Position(merged.partition, row.entry_key)
        if is_gone:
            if self._notes_hidden:
                self._hidden.append((position, hidden_row(merged)))
        elif self._now_seconds is None or not is_expired(row.entity, self._now_seconds):
            self._take(position, row)
        self._end = position

    def _take(self, position: Position, row: NewestRow) -> None:
        try:
            entry = self._judge(row)
        except OutOfStepsError:
            if self._end is None and self._is_alone:
                raise _too_costly() from None
            raise _FullError from None
        if entry is None:
            return
        if entry.size > self._budget.bytes_left and not self._budget.is_untouched:
            raise _FullError
        self._budget.bytes_left -= entry.size
        self._taken.append(TakenEntry(position, entry))


def hidden_row(merged: MergedRow) -> HiddenRow:
    """The tombstone that a row is."""
    entity = merged.row.entity
    row_key, partition_key = cast(str, entity[ROW_KEY]), cast(str, entity[PARTITION_KEY])
    return HiddenRow(merged.row.entry_key, merged.table, row_key[-VERSION_UNITS:], partition_key)


def _too_costly() -> BadLookupError:
    detail = "filter is too costly for a single entry: simplify it."
    return BadLookupError(fault("TooCostly", "filter", detail))
