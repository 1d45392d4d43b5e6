"""COUNT, SUM, MIN, MAX and AVG: what each of them keeps while documents pass, and its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from local.emulators.cosmos.errors import SqlError
from local.emulators.cosmos.sql import nodes
from local.emulators.cosmos.sql.evaluate import Compiler
from local.emulators.cosmos.sql.values import UNDEFINED, as_number, is_number, sort_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from local.emulators.cosmos.sql.evaluate import Evaluator


class Accumulator(Protocol):
    """Takes values one by one; undefined ones do not count."""

    def add(self, value: Any) -> None: ...
    def result(self) -> Any: ...


class Count:
    """How many values are defined."""

    def __init__(self) -> None:
        self._count = 0

    def add(self, value: Any) -> None:
        self._count += value is not UNDEFINED

    def result(self) -> Any:
        return self._count


class Total:
    """The sum, or the average, of numbers; any other defined value makes the whole undefined."""

    def __init__(self, *, is_average: bool) -> None:
        self._is_average = is_average
        self._sum: Any = 0
        self._count = 0

    def add(self, value: Any) -> None:
        if value is UNDEFINED or self._sum is UNDEFINED:
            return
        self._count += 1
        self._sum = self._sum + value if is_number(value) else UNDEFINED

    def result(self) -> Any:
        if self._sum is UNDEFINED:
            return UNDEFINED
        if not self._is_average:
            return as_number(self._sum)
        return as_number(self._sum / self._count) if self._count else UNDEFINED


class Extreme:
    """The smallest or the largest value, across types by the order of types; arrays and objects spoil it."""

    def __init__(self, *, is_maximum: bool) -> None:
        self._is_maximum = is_maximum
        self._best: Any = UNDEFINED
        self._is_spoiled = False

    def add(self, value: Any) -> None:
        if value is UNDEFINED:
            return
        self._is_spoiled = self._is_spoiled or isinstance(value, (list, dict))
        if self._best is UNDEFINED or (sort_key(value) > sort_key(self._best)) == self._is_maximum:
            self._best = value

    def result(self) -> Any:
        return UNDEFINED if self._is_spoiled else self._best


ACCUMULATORS: dict[str, Callable[[], Accumulator]] = {
    "COUNT": Count,
    "SUM": lambda: Total(is_average=False),
    "AVG": lambda: Total(is_average=True),
    "MIN": lambda: Extreme(is_maximum=False),
    "MAX": lambda: Extreme(is_maximum=True),
}


class AggregateCompiler(Compiler):
    """Compiles a projection with aggregates: its "document" is the list of their results."""

    def __init__(self, alias: str, parameters: dict[str, Any]) -> None:
        super().__init__(alias, parameters)
        self._documents = Compiler(alias, parameters)
        self.found: list[tuple[str, Evaluator]] = []

    def _aggregate(self, node: nodes.Aggregate) -> Evaluator:
        place = len(self.found)
        self.found.append((node.name, self._documents.compile(node.argument)))
        return lambda results: results[place]

    def _root(self, node: nodes.Root) -> Evaluator:
        raise SqlError("beside an aggregate, properties are possible inside aggregates only.", node.start)


def has_aggregate(expression: nodes.Expression) -> bool:
    """Whether an aggregate is anywhere in an expression."""
    if isinstance(expression, nodes.Aggregate):
        return True
    return any(has_aggregate(child) for child in expression.children())
