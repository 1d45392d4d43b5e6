"""The grammar of a whole query: its clauses, in their order, and what each of them may contain."""

from __future__ import annotations

from local.emulators.cosmos.errors import SqlError
from local.emulators.cosmos.sql import nodes
from local.emulators.cosmos.sql.cursor import Cursor
from local.emulators.cosmos.sql.expressions import ExpressionParser
from local.emulators.cosmos.sql.tokens import TokenKind

MAX_QUERY_CHARS = 512 * 1024


def parse_query(text: str) -> nodes.Query:
    """The query in `text`; anything outside the supported subset is an error that names the place."""
    if len(text) > MAX_QUERY_CHARS:
        raise SqlError(f"the query is longer than {MAX_QUERY_CHARS} characters.", MAX_QUERY_CHARS)
    return _QueryParser(text).parse()


class _QueryParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._cursor = Cursor(text)
        self._expressions = ExpressionParser(self._cursor)

    def parse(self) -> nodes.Query:
        cursor = self._cursor
        cursor.expect("SELECT")
        self._refuse("DISTINCT")
        top = self._count() if cursor.accept("TOP") else None
        value, columns, selects_all = self._selection()
        alias = self._source()
        where = self._expressions.parse_whole() if cursor.accept("WHERE") else None
        self._refuse("GROUP")
        order_by = self._order() if cursor.accept("ORDER") else ()
        offset = limit = None
        if cursor.is_at("OFFSET") and top is not None:
            cursor.fail("TOP and OFFSET LIMIT exclude each other")
        if cursor.accept("OFFSET"):
            offset = self._count()
            cursor.expect("LIMIT")
            limit = self._count()
        if cursor.token.kind is not TokenKind.END:
            cursor.fail("the end of the query is expected")
        if selects_all:
            value = nodes.Root(0, 0, alias)
        return nodes.Query(self._text, alias, value, columns, selects_all, top, where, order_by, offset, limit)

    def _refuse(self, keyword: str) -> None:
        if self._cursor.is_at(keyword):
            self._cursor.fail(f"{keyword} is not supported by the local Cosmos DB")

    def _count(self) -> nodes.Expression:
        """A number or parameter after TOP, OFFSET or LIMIT."""
        token = self._cursor.advance()
        if token.kind is TokenKind.PARAMETER:
            return nodes.Parameter(token.start, token.end, token.text)
        if token.kind is TokenKind.NUMBER and isinstance(token.value, int):
            return nodes.Literal(token.start, token.end, token.value)
        raise SqlError("a whole number or a parameter is expected.", token.start)

    def _selection(self) -> tuple[nodes.Expression | None, tuple[nodes.Column, ...], bool]:
        if self._cursor.accept("*"):
            return None, (), True
        if self._cursor.accept("VALUE"):
            return self._expressions.parse_whole(), (), False
        return None, self._columns(), False

    def _columns(self) -> tuple[nodes.Column, ...]:
        columns: dict[str, nodes.Column] = {}
        unnamed = 0
        while True:
            start = self._cursor.token.start
            expression = self._expressions.parse_whole()
            name = self._column_name(expression)
            if name is None:
                unnamed += 1
                name = f"${unnamed}"
            if name in columns:
                raise SqlError(f"the column name {name!r} is used twice: give one of them another with AS.", start)
            columns[name] = nodes.Column(name, expression)
            if not self._cursor.accept(","):
                return tuple(columns.values())

    def _column_name(self, expression: nodes.Expression) -> str | None:
        if self._cursor.accept("AS"):
            return self._cursor.expect_kind(TokenKind.NAME).text
        if self._cursor.token.kind is TokenKind.NAME:
            return self._cursor.advance().text
        return expression.name if isinstance(expression, (nodes.Property, nodes.Root)) else None

    def _source(self) -> str:
        """FROM one container, by any name; expressions may use its alias."""
        self._cursor.expect("FROM")
        alias = self._cursor.expect_kind(TokenKind.NAME).text
        if self._cursor.is_at(".", "[", "IN", ",", "JOIN"):
            self._cursor.fail("only a whole container can be selected from in the local Cosmos DB")
        if self._cursor.accept("AS") or self._cursor.token.kind is TokenKind.NAME:
            alias = self._cursor.expect_kind(TokenKind.NAME).text
        self._refuse("JOIN")
        return alias

    def _order(self) -> tuple[nodes.OrderBy, ...]:
        self._cursor.expect("BY")
        found: list[nodes.OrderBy] = []
        while True:
            start = self._cursor.token.start
            expression = self._expressions.parse_whole()
            if not isinstance(expression, nodes.Property):
                raise SqlError("ORDER BY takes property paths, such as c.name.", start)
            found.append(nodes.OrderBy(expression, self._cursor.accept("ASC", "DESC") == "DESC"))
            if not self._cursor.accept(","):
                return tuple(found)
