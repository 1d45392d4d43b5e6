"""The grammar of expressions, from the loosest operator to the tightest.

Where the service's grammar and common sense might differ (a NOT before a comparison, chained comparisons),
the query is refused with the advice to write parentheses.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from local.emulators.cosmos.errors import SqlError
from local.emulators.cosmos.sql import nodes
from local.emulators.cosmos.sql.cursor import MAX_DEPTH
from local.emulators.cosmos.sql.functions import FUNCTIONS
from local.emulators.cosmos.sql.tokens import Token, TokenKind
from local.emulators.cosmos.sql.values import UNDEFINED

if TYPE_CHECKING:
    from collections.abc import Callable

    from local.emulators.cosmos.sql.cursor import Cursor

# Python's own limit is some 1,000 calls, and evaluating a level takes up to three.
MAX_LEVELS = 100
AGGREGATES = ("COUNT", "SUM", "MIN", "MAX", "AVG")
_COMPARISONS = ("=", "!=", "<>", "<", "<=", ">", ">=")
_CONSTANTS = {"TRUE": True, "FALSE": False, "NULL": None, "UNDEFINED": UNDEFINED}
_AFTER_NOT = (*_COMPARISONS, "IN", "BETWEEN", "LIKE", "NOT", "+", "-", "*", "/", "%", "||")


class ExpressionParser:
    """Parses expressions at a cursor."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor

    def parse(self) -> nodes.Expression:
        """One expression, as far as it goes."""
        self._cursor.enter()
        expression = self._chain(self._disjunction, "??")
        self._cursor.leave()
        return expression

    def parse_whole(self) -> nodes.Expression:
        """One expression that is part of no other. Chains such as c[0][0] make it deep without nesting in the text."""
        expression = self.parse()
        level = [expression]
        for _ in range(MAX_LEVELS):
            level = [child for each in level for child in each.children()]
            if not level:
                return expression
        raise SqlError(f"the expression has more than {MAX_LEVELS} levels.", expression.start)

    def _chain(self, operand: Callable[[], nodes.Expression], *operators: str) -> nodes.Expression:
        """Operands joined by operators of one precedence, from left to right."""
        left = operand()
        for _ in range(MAX_DEPTH):
            operator = self._cursor.accept(*operators)
            if operator is None:
                return left
            right = operand()
            left = nodes.Binary(left.start, right.end, operator, left, right)
        return self._cursor.fail(f"at most {MAX_DEPTH} operators in a row are possible")

    def _disjunction(self) -> nodes.Expression:
        return self._logical(self._conjunction, "OR")

    def _conjunction(self) -> nodes.Expression:
        return self._logical(self._negation, "AND")

    def _logical(self, operand: Callable[[], nodes.Expression], operator: str) -> nodes.Expression:
        operands = [operand()]
        while self._cursor.accept(operator):
            operands.append(operand())
        if len(operands) == 1:
            return operands[0]
        return nodes.Logical(operands[0].start, operands[-1].end, operator, tuple(operands))

    def _negation(self) -> nodes.Expression:
        if not self._cursor.is_at("NOT"):
            return self._predicate()
        self._cursor.enter()
        start = self._cursor.advance().start
        operand = self._negation() if self._cursor.is_at("NOT") else self._sign()
        self._cursor.leave()
        if self._cursor.is_at(*_AFTER_NOT):
            self._cursor.fail("what NOT negates must be in parentheses")
        return nodes.Unary(start, operand.end, "NOT", operand)

    def _predicate(self) -> nodes.Expression:
        left = self._concatenation()
        if operator := self._cursor.accept(*_COMPARISONS):
            right = self._concatenation()
            if self._cursor.is_at(*_COMPARISONS):
                self._cursor.fail("comparisons cannot be chained: write parentheses")
            return nodes.Binary(left.start, right.end, "!=" if operator == "<>" else operator, left, right)
        negated = bool(self._cursor.accept("NOT"))
        found = self._membership(left)
        if found is None:
            if negated:
                self._cursor.fail("IN, BETWEEN or LIKE is expected after NOT")
            return left
        return nodes.Unary(found.start, found.end, "NOT", found) if negated else found

    def _membership(self, left: nodes.Expression) -> nodes.Expression | None:
        if self._cursor.accept("IN"):
            self._cursor.expect("(")
            options = self._list(")")
            if not options:
                self._cursor.fail("IN needs at least one value")
            return nodes.In(left.start, self._cursor.last_end, left, options)
        if self._cursor.accept("BETWEEN"):
            low = self._concatenation()
            self._cursor.expect("AND")
            high = self._concatenation()
            return nodes.Between(left.start, high.end, left, low, high)
        if self._cursor.accept("LIKE"):
            pattern = self._concatenation()
            escape = self._escape() if self._cursor.accept("ESCAPE") else None
            return nodes.Like(left.start, self._cursor.last_end, left, pattern, escape)
        return None

    def _escape(self) -> str:
        token = self._cursor.expect_kind(TokenKind.STRING)
        if len(token.value) != 1:
            raise SqlError("ESCAPE needs a string of one character.", token.start)
        return str(token.value)

    def _concatenation(self) -> nodes.Expression:
        return self._chain(self._sum, "||")

    def _sum(self) -> nodes.Expression:
        return self._chain(self._product, "+", "-")

    def _product(self) -> nodes.Expression:
        return self._chain(self._sign, "*", "/", "%")

    def _sign(self) -> nodes.Expression:
        if not self._cursor.is_at("-", "+"):
            return self._path()
        self._cursor.enter()
        token = self._cursor.advance()
        operand = self._sign()
        self._cursor.leave()
        return nodes.Unary(token.start, operand.end, token.text, operand)

    def _path(self) -> nodes.Expression:
        """A primary expression with `.name` and `[index]` after it."""
        found = self._primary()
        while step := self._cursor.accept(".", "["):
            found = self._member(found) if step == "." else self._element(found)
        return found

    def _member(self, of: nodes.Expression) -> nodes.Expression:
        token = self._cursor.token
        if token.kind is TokenKind.KEYWORD:
            raise SqlError(f'{token.text} is a reserved word: write ["{token.text.lower()}"].', token.start)
        name = self._cursor.expect_kind(TokenKind.NAME)
        return nodes.Property(of.start, name.end, of, name.text)

    def _element(self, of: nodes.Expression) -> nodes.Expression:
        index = self.parse()
        self._cursor.expect("]")
        end = self._cursor.last_end
        if isinstance(index, nodes.Literal) and isinstance(index.value, str):
            return nodes.Property(of.start, end, of, index.value)
        return nodes.Element(of.start, end, of, index)

    def _primary(self) -> nodes.Expression:
        token = self._cursor.token
        if token.kind in (TokenKind.STRING, TokenKind.NUMBER):
            self._cursor.advance()
            return nodes.Literal(token.start, token.end, token.value)
        if token.kind is TokenKind.PARAMETER:
            self._cursor.advance()
            return nodes.Parameter(token.start, token.end, token.text)
        if token.kind is TokenKind.NAME:
            return self._named()
        if token.kind is TokenKind.KEYWORD and token.text in _CONSTANTS:
            self._cursor.advance()
            return nodes.Literal(token.start, token.end, _CONSTANTS[token.text])
        return self._bracketed(token)

    def _bracketed(self, token: Token) -> nodes.Expression:
        if self._cursor.accept("("):
            inner = self.parse()
            self._cursor.expect(")")
            # The brackets belong to the expression's place, so that its text can be copied as it stands.
            return replace(inner, start=token.start, end=self._cursor.last_end)
        if self._cursor.accept("["):
            items = self._list("]")
            return nodes.ArrayOf(token.start, self._cursor.last_end, items)
        if self._cursor.accept("{"):
            fields = self._fields()
            return nodes.ObjectOf(token.start, self._cursor.last_end, fields)
        return self._cursor.fail("an expression is expected")

    def _named(self) -> nodes.Expression:
        token = self._cursor.advance()
        if not self._cursor.accept("("):
            return nodes.Root(token.start, token.end, token.text)
        name, arguments = token.text.upper(), self._list(")")
        end = self._cursor.last_end
        if name in AGGREGATES:
            if len(arguments) != 1:
                raise SqlError(f"{name} takes one argument.", token.start)
            return nodes.Aggregate(token.start, end, name, arguments[0])
        function = FUNCTIONS.get(name)
        if function is None:
            raise SqlError(f"the function {token.text} is not supported by the local Cosmos DB.", token.start)
        if not function.least <= len(arguments) <= function.most:
            raise SqlError(f"{name} takes {function.least} to {function.most} arguments.", token.start)
        return nodes.FunctionCall(token.start, end, name, arguments)

    def _list(self, closing: str) -> tuple[nodes.Expression, ...]:
        """Expressions between commas up to the closing bracket, which is taken."""
        found: list[nodes.Expression] = []
        if self._cursor.accept(closing):
            return ()
        while True:
            found.append(self.parse())
            if self._cursor.accept(closing):
                return tuple(found)
            self._cursor.expect(",")

    def _fields(self) -> tuple[tuple[str, nodes.Expression], ...]:
        fields: dict[str, nodes.Expression] = {}
        if self._cursor.accept("}"):
            return ()
        while True:
            token = self._cursor.advance()
            if token.kind not in (TokenKind.STRING, TokenKind.NAME):
                raise SqlError("a field name is expected.", token.start)
            self._cursor.expect(":")
            fields[token.value if token.kind is TokenKind.STRING else token.text] = self.parse()
            if self._cursor.accept("}"):
                return tuple(fields.items())
            self._cursor.expect(",")
