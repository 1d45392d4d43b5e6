"""Expressions at work: compiled once, then asked for every fact.

A dotted path is a few dictionary lookups, with exactly the results JMESPath would give. Everything else
goes to JMESPath, with one change in `where` and `when`: 0 is false there too, also inside `!`, `&&` and
`||`. What JMESPath does is counted, and ends when the budget of the fact is used up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from shared.definitions.expressions import parse
from shared.definitions.field_paths import segments
from shared.entries.changes.shown_values import expression_in_message, shortened, value_in_message
from shared.entries.changes.step_budget import STEPS_MAX, OutOfStepsError, StepBudget

if TYPE_CHECKING:
    from collections.abc import Callable

Getter: TypeAlias = "Callable[[Any], Any]"

_LIBRARY_CHARACTERS_MAX: Final = 80


class EvaluationError(ValueError):
    """The expression cannot be evaluated on this fact; the message says why."""


def compile_path(text: str, budget: StepBudget | None = None) -> Getter:
    """The value of an expression on a document: None when there is none.

    Expressions that share a budget share what the caller fills it with; one without has a whole budget every time.
    """
    names = segments(text)
    return compile_dotted(names) if names is not None else _compile_jmespath(text, budget, has_own_truth=False)


def compile_condition(text: str, budget: StepBudget | None = None) -> Callable[[Any], bool]:
    """Whether an expression holds: false, null, missing, 0, "", [] and {} are false."""
    names = segments(text)
    get = compile_dotted(names) if names is not None else _compile_jmespath(text, budget, has_own_truth=True)
    return lambda document: bool(get(document))


def compile_dotted(names: tuple[str, ...]) -> Getter:
    """The value of a field inside fields; the document itself for no names."""
    if len(names) == 1:
        return _field(names[0])

    def get(value: Any) -> Any:
        for name in names:
            if not isinstance(value, dict):
                return None
            value = value.get(name)
        return value

    return get


def _field(name: str) -> Getter:
    return lambda value: value.get(name) if isinstance(value, dict) else None


def _compile_jmespath(text: str, shared: StepBudget | None, *, has_own_truth: bool) -> Getter:
    from jmespath.exceptions import JMESPathError

    from shared.entries.changes.counted_jmespath import CountedInterpreter, OwnTruthInterpreter

    tree = parse(text)
    budget = StepBudget() if shared is None else shared
    visit = (OwnTruthInterpreter if has_own_truth else CountedInterpreter)(budget).visit

    def get(document: Any) -> Any:
        if shared is None:
            budget.refill()
        try:
            return visit(tree, document)
        except OutOfStepsError as error:
            raise too_costly(text) from error
        # The library's functions raise plain errors too, for instance on texts that are no numbers.
        except (JMESPathError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
            raise EvaluationError(_reason(error)) from error

    return get


def too_costly(text: str) -> EvaluationError:
    """The error for a fact on which the budget is used up in this expression."""
    shown = expression_in_message(text)
    return EvaluationError(f"{shown} is too costly, over {STEPS_MAX} steps: simplify it, or split the fact")


def _reason(error: Exception) -> str:
    """Short, whatever the value is. Python's own message for values that it cannot compare would say nothing about the
    fact."""
    from jmespath.exceptions import JMESPathTypeError

    if isinstance(error, JMESPathTypeError):
        # The message would spell out all of it.
        error.current_value = value_in_message(error.current_value)
        return str(error)
    text = str(error) or type(error).__name__
    if "not supported between" in text:
        return "values of different types cannot be compared"
    return shortened(text, _LIBRARY_CHARACTERS_MAX)
