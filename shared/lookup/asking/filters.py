"""`filter`: a JMESPath condition on an entry as it is stored, with the truth of `where` and bounded work."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from shared.definitions.expressions import problem_with
from shared.entries.changes.paths import EvaluationError, compile_condition
from shared.entries.changes.step_budget import OutOfStepsError
from shared.entries.rows.json_text import dumps
from shared.errors import BadLookupError
from shared.inputs.faults import fault, shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from shared.entries.changes.step_budget import StepBudget
    from shared.entries.rows.columns import StoredEntry
    from shared.errors import Fault

# How many rows a page with a filter may read.
FILTERED_ROWS_MAX: Final = 1000


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Whether a condition holds for entries; their evaluation takes from the budget that it was compiled with."""

    condition: Callable[[Any], bool]

    def __call__(self, stored: StoredEntry) -> bool:
        """Whether it holds for this one; raises `OutOfStepsError` when the budget is used up."""
        try:
            return self.condition({"key": stored.key, "data": stored.document})
        except EvaluationError as error:
            if isinstance(error.__cause__, OutOfStepsError):
                raise error.__cause__ from None
            detail = (
                f"filter cannot be evaluated on {_named(stored)}: {error}. "
                "Ask first whether the value is there, as in data.name && starts_with(data.name, 'S')."
            )
            raise BadLookupError(fault("InvalidFilter", "filter", detail)) from None


def _named(stored: StoredEntry) -> str:
    """The entry by its fact; a group of a summary has none, and no id."""
    return f"the entry of fact {shown(stored.id)}" if stored.id else f"the group {shown(dumps(stored.key))}"


def compile_filter(text: str, budget: StepBudget) -> EntryFilter:
    """The filter that `filter_fault` has found nothing wrong with."""
    return EntryFilter(compile_condition(text, budget))


@lru_cache(maxsize=256)
def filter_fault(text: str) -> Fault | None:
    """What is wrong with a filter as it is written."""
    problem = problem_with(text)
    if problem is None:
        return None
    detail = (
        f"filter is {shown(text)}, which is not a JMESPath expression: {problem.rstrip('.')}. "
        'It sees "key" and "data" of an entry, as in data.status == \'open\'.'
    )
    return fault("InvalidFilter", "filter", detail)
