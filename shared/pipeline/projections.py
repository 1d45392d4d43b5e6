"""All projections of one change: its entries in every generation, or why it has none there."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from shared.errors import UnprojectableError
from shared.projection.project import ENTRIES_MAX, HOW_TO_MEND

if TYPE_CHECKING:
    from shared.errors import FailureKind
    from shared.pipeline.generations import Generation, SourcePlan
    from shared.projection.change import Change
    from shared.projection.project import Entry


class Failure(NamedTuple):
    """Why a fact has no entries where it should: for a program, and as a sentence."""

    kind: FailureKind
    reason: str


class Projected(NamedTuple):
    """The entries of a fact in one generation; with a failure, none."""

    generation: Generation
    entries: tuple[Entry, ...]
    failure: Failure | None = None

    def failing(self, failure: Failure) -> Projected:
        """The same without entries, for this reason."""
        return Projected(self.generation, (), failure)


def project_all(change: Change, plan: SourcePlan) -> list[Projected]:
    """The change in every generation of the plan, at most 1 000 entries in all.

    Over that, the generations with the most entries fail first, so that the other indexes go on.
    """
    projected = [_project(change, generation) for generation in plan.generations]
    while sum([len(one.entries) for one in projected]) > ENTRIES_MAX:
        fail_largest(projected, change, "tooManyEntries", f"it has more than {ENTRIES_MAX} entries over all indexes")
    return projected


def fail_largest(projected: list[Projected], change: Change, kind: FailureKind, reason: str) -> None:
    """Let the generation with the most entries fail; the first of several."""
    place = max(range(len(projected)), key=lambda number: len(projected[number].entries))
    name = projected[place].generation.index.name
    sentence = f'Index "{name}" cannot hold a fact of source "{change.source}": {reason}. {HOW_TO_MEND}'
    projected[place] = projected[place].failing(Failure(kind, sentence))


def _project(change: Change, generation: Generation) -> Projected:
    try:
        return Projected(generation, generation.projector.project(change))
    except UnprojectableError as error:
        return Projected(generation, (), Failure(error.kind, str(error)))
