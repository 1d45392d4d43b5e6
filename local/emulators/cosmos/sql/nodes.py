"""The parsed query: expressions and the clauses around them. Every expression knows its place in the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Expression:
    """The place of an expression: text[start:end]."""

    start: int
    end: int

    def children(self) -> list[Expression]:
        """The expressions that this one is made of."""
        return [found for name in self.__dataclass_fields__ for found in _expressions_in(getattr(self, name))]


def _expressions_in(value: Any) -> list[Expression]:
    if isinstance(value, Expression):
        return [value]
    if isinstance(value, tuple):
        return [found for each in value for found in _expressions_in(each)]
    return []


@dataclass(frozen=True, slots=True)
class Literal(Expression):
    value: Any


@dataclass(frozen=True, slots=True)
class Parameter(Expression):
    name: str


@dataclass(frozen=True, slots=True)
class Root(Expression):
    """The document, by its alias."""

    name: str


@dataclass(frozen=True, slots=True)
class Property(Expression):
    """`of.name`, or `of["name"]` with a literal."""

    of: Expression
    name: str


@dataclass(frozen=True, slots=True)
class Element(Expression):
    """`of[index]` with anything but a literal string."""

    of: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Unary(Expression):
    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Expression):
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Logical(Expression):
    """AND or OR of any number of conditions: flat, because people write hundreds of them."""

    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class In(Expression):
    needle: Expression
    options: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Between(Expression):
    value: Expression
    low: Expression
    high: Expression


@dataclass(frozen=True, slots=True)
class Like(Expression):
    value: Expression
    pattern: Expression
    escape: str | None


@dataclass(frozen=True, slots=True)
class FunctionCall(Expression):
    """A built-in function; `name` in capitals."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Aggregate(Expression):
    """COUNT, SUM, MIN, MAX or AVG over the documents that match."""

    name: str
    argument: Expression


@dataclass(frozen=True, slots=True)
class ArrayOf(Expression):
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class ObjectOf(Expression):
    fields: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class Column:
    """One of a list of selected expressions, with the name that the result gives it."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class OrderBy:
    expression: Expression
    descending: bool


@dataclass(frozen=True, slots=True)
class Query:
    """A whole query. `value` is set for SELECT VALUE and SELECT *, `columns` for a list."""

    text: str
    alias: str
    value: Expression | None
    columns: tuple[Column, ...]
    selects_all: bool
    top: Expression | None
    where: Expression | None
    order_by: tuple[OrderBy, ...]
    offset: Expression | None
    limit: Expression | None

    def source(self, expression: Expression) -> str:
        """The text of an expression, as it was written."""
        return self.text[expression.start : expression.end]

    def projection(self) -> Expression:
        """What each result is made from; a list of columns is an object of them."""
        if self.value is not None:
            return self.value
        return ObjectOf(0, 0, tuple((column.name, column.expression) for column in self.columns))
