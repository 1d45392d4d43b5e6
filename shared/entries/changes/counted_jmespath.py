"""JMESPath's interpreter, with every step taken from a budget before it is made.

A step is a node of the expression that is visited, an element or field that a function, a flattening or a slice goes
through, or 100 characters of text that are compared, joined or written. A short expression can make a small document
arbitrarily large (`[@, @] | [@, @] | ...`), so what looks at whole values is counted by their size, not by their depth.

Imported only when there is an expression that needs it: the library costs start-up time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jmespath.functions import Functions
from jmespath.visitor import Options, TreeInterpreter

from shared.entries.changes.step_budget import CHARACTERS_PER_STEP, StepBudget, weight

if TYPE_CHECKING:
    from collections.abc import Callable

# The library checks the number and types of arguments at every call.
_CALL_STEPS: Final = 2
# Their time does not depend on the size of what they are given.
_CONSTANT: Final = frozenset({"length", "not_null", "to_array", "type"})
_ORDERING: Final = frozenset({"sort", "sort_by"})
_EQUALITY: Final = frozenset({"eq", "ne"})


class CountedInterpreter(TreeInterpreter):
    """Evaluates as the library does, until the budget is used up."""

    def __init__(self, budget: StepBudget) -> None:
        super().__init__(Options(custom_functions=CountedFunctions(budget)))
        self._budget = budget
        self._methods: dict[str, Callable[..., Any]] = {}

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
        """One step, in as few instructions as possible: this is called for every node and element."""
        self._budget.left -= 1
        if self._budget.left < 0:
            self._budget.spend(0)
        kind = node["type"]
        method = self._methods.get(kind)
        if method is None:
            method = self._methods[kind] = getattr(self, f"visit_{kind}")
        return method(node, *args, **kwargs)

    def visit_flatten(self, node: Any, value: Any) -> Any:
        """As the library's, counted."""
        base = self.visit(node["children"][0], value)
        if not isinstance(base, list):
            return None
        spend = self._budget.spend
        spend(len(base))
        merged: list[Any] = []
        for element in base:
            if isinstance(element, list):
                spend(len(element))
                merged.extend(element)
            else:
                merged.append(element)
        return merged

    def visit_slice(self, node: Any, value: Any) -> Any:
        """As the library's, counted."""
        if not isinstance(value, list):
            return None
        bounds = slice(*node["children"])
        self._budget.spend(len(range(*bounds.indices(len(value)))))
        return value[bounds]

    def visit_comparator(self, node: Any, value: Any) -> Any:
        """As the library's, counted."""
        left = self.visit(node["children"][0], value)
        right = self.visit(node["children"][1], value)
        operator = node["value"]
        if operator not in _EQUALITY and not (_has_order(left) and _has_order(right)):
            return None
        self._budget.spend(_steps_to_compare(left, right, self._budget.left))
        return self.COMPARATOR_FUNC[operator](left, right)


class OwnTruthInterpreter(CountedInterpreter):
    """JMESPath's own truth, but for zero."""

    def _is_false(self, value: Any) -> bool:
        return not value

    def visit_not_expression(self, node: Any, value: Any) -> bool:
        """`!0` holds."""
        return not self.visit(node["children"][0], value)


class CountedFunctions(Functions):
    """The library's functions, counted by what they are given."""

    def __init__(self, budget: StepBudget) -> None:
        super().__init__()
        self._budget = budget

    def call_function(self, function_name: str, resolved_args: Any) -> Any:
        """Count, then call."""
        steps = _CALL_STEPS
        if function_name not in _CONSTANT:
            is_deep = function_name == "to_string" or (
                function_name == "contains" and any(isinstance(value, (list, dict)) for value in resolved_args[1:])
            )
            for value in resolved_args:
                steps += weight(value, self._budget.left) if is_deep else _surface(value)
            steps *= 2 if function_name in _ORDERING else 1
        self._budget.spend(steps)
        return super().call_function(function_name, resolved_args)

    def _create_key_func(self, expref: Any, allowed_types: Any, function_name: str) -> Callable[[Any], Any]:
        # The library's stubs leave out what is not public.
        key_of = super()._create_key_func(expref, allowed_types, function_name)  # type: ignore[misc]

        def counted(element: Any) -> Any:
            key = key_of(element)
            self._budget.spend(1 + _surface(key))
            return key

        return counted


def _has_order(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _steps_to_compare(left: Any, right: Any, most: int) -> int:
    """At most the smaller of the two is gone through."""
    if isinstance(left, str) and isinstance(right, str):
        return min(len(left), len(right)) // CHARACTERS_PER_STEP
    if isinstance(left, (list, dict)) and isinstance(right, (list, dict)):
        return min(weight(left, most), weight(right, most))
    return 0


def _surface(value: Any) -> int:
    """The steps to go once through a text, a list with its texts, or the fields of an object."""
    if isinstance(value, str):
        return len(value) // CHARACTERS_PER_STEP
    if isinstance(value, list):
        texts = sum([len(element) for element in value if isinstance(element, str)])
        return len(value) + texts // CHARACTERS_PER_STEP
    return len(value) if isinstance(value, dict) else 0
