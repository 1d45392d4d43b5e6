"""Expressions at work: compiled once, then asked for every fact.

A dotted path is a few dictionary lookups, with exactly the results JMESPath would give. Everything else
goes to JMESPath, with one change in `where` and `when`: 0 is false there too, also inside `!`, `&&` and
`||`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from shared.definitions.expressions import parse
from shared.definitions.field_paths import segments

if TYPE_CHECKING:
    from collections.abc import Callable

Getter: TypeAlias = "Callable[[Any], Any]"


class EvaluationError(ValueError):
    """The expression cannot be evaluated on this fact; the message says why."""


def compile_path(text: str) -> Getter:
    """The value of an expression on a document: None when there is none."""
    names = segments(text)
    return compile_dotted(names) if names is not None else _compile_jmespath(text, has_own_truth=False)


def compile_condition(text: str) -> Callable[[Any], bool]:
    """Whether an expression holds: false, null, missing, 0, "", [] and {} are false."""
    names = segments(text)
    get = compile_dotted(names) if names is not None else _compile_jmespath(text, has_own_truth=True)
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


def _compile_jmespath(text: str, *, has_own_truth: bool) -> Getter:
    from jmespath.exceptions import JMESPathError

    tree = parse(text)
    visit = _interpreter(has_own_truth=has_own_truth).visit

    def get(document: Any) -> Any:
        try:
            return visit(tree, document)
        # The library's functions raise plain errors too, for instance on texts that are no numbers.
        except (JMESPathError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
            raise EvaluationError(_reason(error)) from error

    return get


def _reason(error: Exception) -> str:
    """Python's own message for values that it cannot compare would say nothing about the fact."""
    text = str(error) or type(error).__name__
    return "values of different types cannot be compared" if "not supported between" in text else text


@lru_cache(maxsize=2)
def _interpreter(*, has_own_truth: bool) -> Any:
    from jmespath.visitor import TreeInterpreter

    class OwnTruth(TreeInterpreter):
        """JMESPath's own truth, but for zero."""

        def _is_false(self, value: Any) -> bool:
            return not value

        def visit_not_expression(self, node: Any, value: Any) -> bool:
            return not self.visit(node["children"][0], value)

    return OwnTruth() if has_own_truth else TreeInterpreter()
