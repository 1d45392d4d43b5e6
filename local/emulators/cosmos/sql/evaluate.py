"""From an expression to a function of the document: each node becomes one closure, once per query."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from local.emulators.cosmos.errors import SqlError
from local.emulators.cosmos.sql.functions import FUNCTIONS
from local.emulators.cosmos.sql.like import like_regex
from local.emulators.cosmos.sql.values import UNDEFINED, as_number, compare, equals, is_number, same

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from local.emulators.cosmos.sql import nodes

    Evaluator = Callable[[Any], Any]

_ORDERINGS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": math.fmod,
}


class Compiler:
    """Compiles the expressions of one query, with its parameters."""

    def __init__(self, alias: str, parameters: Mapping[str, Any]) -> None:
        self._alias = alias
        self._parameters = parameters

    def compile(self, expression: nodes.Expression) -> Evaluator:
        """The function that gives the expression's value for a document."""
        build = getattr(self, f"_{type(expression).__name__.lower()}")
        evaluator: Evaluator = build(expression)
        return evaluator

    def _literal(self, node: nodes.Literal) -> Evaluator:
        value = node.value
        return lambda _: value

    def _parameter(self, node: nodes.Parameter) -> Evaluator:
        if node.name not in self._parameters:
            raise SqlError(f"the parameter {node.name} has no value.", node.start)
        value = self._parameters[node.name]
        return lambda _: value

    def _root(self, node: nodes.Root) -> Evaluator:
        if node.name != self._alias:
            raise SqlError(f"{node.name!r} is not known: FROM names {self._alias!r}.", node.start)
        return lambda document: document

    def _property(self, node: nodes.Property) -> Evaluator:
        of, name = self.compile(node.of), node.name

        def evaluate(document: Any) -> Any:
            owner = of(document)
            return owner.get(name, UNDEFINED) if isinstance(owner, dict) else UNDEFINED

        return evaluate

    def _element(self, node: nodes.Element) -> Evaluator:
        of, index = self.compile(node.of), self.compile(node.index)
        return lambda document: _element(of(document), index(document))

    def _unary(self, node: nodes.Unary) -> Evaluator:
        operand = self.compile(node.operand)
        if node.operator == "NOT":
            return lambda document: _negation(operand(document))
        sign = -1 if node.operator == "-" else 1
        return lambda document: _arithmetic(operator.mul, sign, operand(document))

    def _binary(self, node: nodes.Binary) -> Evaluator:
        left, right = self.compile(node.left), self.compile(node.right)
        name = node.operator
        if name in _ORDERINGS:
            order = _ORDERINGS[name]
            return lambda document: _ordering(order, left(document), right(document))
        if name in _ARITHMETIC:
            calculate = _ARITHMETIC[name]
            return lambda document: _arithmetic(calculate, left(document), right(document))
        combine = _COMBINATIONS[name]
        return lambda document: combine(left(document), right(document))

    def _logical(self, node: nodes.Logical) -> Evaluator:
        operands = [self.compile(operand) for operand in node.operands]
        decisive = node.operator == "OR"

        def evaluate(document: Any) -> Any:
            """The decisive value wins. Without it, an operand that is not a boolean makes the result undefined."""
            result: Any = not decisive
            for operand in operands:
                value = operand(document)
                if value is decisive:
                    return decisive
                if not isinstance(value, bool):
                    result = UNDEFINED
            return result

        return evaluate

    def _in(self, node: nodes.In) -> Evaluator:
        needle, options = self.compile(node.needle), [self.compile(option) for option in node.options]

        def evaluate(document: Any) -> Any:
            value = needle(document)
            if value is UNDEFINED:
                return UNDEFINED
            return any(equals(option(document), value) is True for option in options)

        return evaluate

    def _between(self, node: nodes.Between) -> Evaluator:
        value, low, high = self.compile(node.value), self.compile(node.low), self.compile(node.high)

        def evaluate(document: Any) -> Any:
            found = value(document)
            return _and(_ordering(operator.ge, found, low(document)), _ordering(operator.le, found, high(document)))

        return evaluate

    def _like(self, node: nodes.Like) -> Evaluator:
        value, pattern, escape = self.compile(node.value), self.compile(node.pattern), node.escape

        def evaluate(document: Any) -> Any:
            text, like = value(document), pattern(document)
            if not isinstance(text, str) or not isinstance(like, str):
                return UNDEFINED
            return like_regex(like, escape).fullmatch(text) is not None

        return evaluate

    def _functioncall(self, node: nodes.FunctionCall) -> Evaluator:
        function, arguments = FUNCTIONS[node.name].call, [self.compile(each) for each in node.arguments]
        return lambda document: function(*(argument(document) for argument in arguments))

    def _aggregate(self, node: nodes.Aggregate) -> Evaluator:
        raise SqlError(f"{node.name} is possible in SELECT only.", node.start)

    def _arrayof(self, node: nodes.ArrayOf) -> Evaluator:
        items = [self.compile(item) for item in node.items]
        return lambda document: [value for value in (item(document) for item in items) if value is not UNDEFINED]

    def _objectof(self, node: nodes.ObjectOf) -> Evaluator:
        fields = [(name, self.compile(value)) for name, value in node.fields]

        def evaluate(document: Any) -> dict[str, Any]:
            found = ((name, value(document)) for name, value in fields)
            return {name: value for name, value in found if value is not UNDEFINED}

        return evaluate


def _element(owner: Any, index: Any) -> Any:
    if isinstance(owner, dict) and isinstance(index, str):
        return owner.get(index, UNDEFINED)
    if isinstance(owner, list) and isinstance(index, int) and not isinstance(index, bool):
        return owner[index] if 0 <= index < len(owner) else UNDEFINED
    return UNDEFINED


def _negation(value: Any) -> Any:
    return not value if isinstance(value, bool) else UNDEFINED


def _and(left: Any, right: Any) -> Any:
    if left is False or right is False:
        return False
    return True if left is True and right is True else UNDEFINED


def _differs(left: Any, right: Any) -> Any:
    return UNDEFINED if left is UNDEFINED or right is UNDEFINED else not same(left, right)


def _concat(left: Any, right: Any) -> Any:
    return left + right if isinstance(left, str) and isinstance(right, str) else UNDEFINED


_COMBINATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": equals,
    "!=": _differs,
    "||": _concat,
    "??": lambda left, right: right if left is UNDEFINED else left,
}


def _ordering(order: Callable[[int, int], bool], left: Any, right: Any) -> Any:
    result = compare(left, right)
    return order(result, 0) if isinstance(result, int) else UNDEFINED


def _arithmetic(calculate: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    if not is_number(left) or not is_number(right):
        return UNDEFINED
    try:
        return as_number(calculate(left, right))
    except (ZeroDivisionError, OverflowError, ValueError):
        return UNDEFINED
