"""All projections of one change: its entries in every generation, or why it has none there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from shared.entries.projection.key_values import ENTRIES_MAX
from shared.entries.projection.projector import why_not
from shared.errors import UnprojectableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import Generation, SourcePlan
    from shared.entries.projection.projector import Entry
    from shared.errors import FailureKind


class Failure(NamedTuple):
    """Why a fact has no entries where it should: for a program, and as a sentence."""

    kind: FailureKind
    reason: str


class GenerationEntries(NamedTuple):
    """The entries of a fact in one generation; with a failure, none."""

    generation: Generation
    entries: tuple[Entry, ...]
    failure: Failure | None = None

    def failing(self, failure: Failure) -> GenerationEntries:
        """The same without entries, for this reason."""
        return GenerationEntries(self.generation, (), failure)


def project_all(change: Change, plan: SourcePlan) -> list[GenerationEntries]:
    """The change in every generation of the plan, at most 1 000 entries over all indexes."""
    return within_limit([project_one(change, generation) for generation in plan.generations], plan)


def project_one(change: Change, generation: Generation) -> GenerationEntries:
    """The change in one generation."""
    try:
        return GenerationEntries(generation, generation.projector.project(change))
    except UnprojectableError as error:
        return GenerationEntries(generation, (), Failure(error.kind, str(error)))


def within_limit(projected: list[GenerationEntries], plan: SourcePlan) -> list[GenerationEntries]:
    """The projections of a change, with at most 1 000 entries over all indexes.

    Over that, the generations with the most entries fail first, so that the other indexes go on. An index that has
    several generations counts once, as when it has one: nothing that serves loses entries to its successor.
    """
    while _entries_of_all_indexes(projected) > ENTRIES_MAX:
        position = max(
            range(len(projected)), key=lambda at: (len(projected[at].entries), not _serves(projected[at], plan))
        )
        _fail(projected, position, "tooManyEntries", f"it has more than {ENTRIES_MAX} entries over all indexes")
    return projected


def entries_in_open_periods(projected: GenerationEntries, now_seconds: float) -> GenerationEntries:
    """A projection without the entries of periods that are over; the same object when there are none.

    A late change of such a period is no error, and makes no table anew.
    """
    generation = projected.generation
    if generation.periods is None:
        return projected
    entries = tuple([entry for entry in projected.entries if not generation.is_over(entry.partition_key, now_seconds)])
    return projected if len(entries) == len(projected.entries) else projected._replace(entries=entries)


def failing_for_ledger_row(
    projected: Sequence[GenerationEntries], plan: SourcePlan, failing: int
) -> list[GenerationEntries]:
    """The same with so many generations failing that make the ledger row large: the largest first, and before all those
    that serve."""

    def weight(position: int) -> tuple[bool, int]:
        count = len(projected[position].entries)
        return count > 0 and not _serves(projected[position], plan), count

    left = list(projected)
    for position in sorted(range(len(left)), key=weight, reverse=True)[:failing]:
        _fail(left, position, "ledgerRowTooLarge", "its ledger row is over the limit of 900 KiB")
    return left


def _entries_of_all_indexes(projected: list[GenerationEntries]) -> int:
    if sum([len(entries) for _, entries, _ in projected]) <= ENTRIES_MAX:
        return 0  # as nearly always: no need to look closer
    counts: dict[str, int] = {}
    for generation, entries, _ in projected:
        name = generation.index.name
        counts[name] = max(counts.get(name, 0), len(entries))
    return sum(counts.values())


def _serves(projected: GenerationEntries, plan: SourcePlan) -> bool:
    return projected.generation.id in plan.serving


def _fail(projected: list[GenerationEntries], position: int, kind: FailureKind, reason: str) -> None:
    projected[position] = projected[position].failing(Failure(kind, why_not(reason)))
