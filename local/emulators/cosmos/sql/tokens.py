"""From query text to tokens, each with its place in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any

import orjson

from local.emulators.cosmos.errors import SqlError
from local.emulators.cosmos.sql.values import UNDEFINED, as_number


class TokenKind(Enum):
    """What a token is."""

    KEYWORD = "keyword"
    NAME = "name"
    PARAMETER = "parameter"
    STRING = "string"
    NUMBER = "number"
    SYMBOL = "symbol"
    END = "end of the query"


@dataclass(frozen=True, slots=True)
class Token:
    """One token: `text` as written (keywords in capitals), `value` of a literal."""

    kind: TokenKind
    text: str
    start: int
    end: int
    value: Any = None


# Reserved words of the query language; none of them can follow a dot: c["order"], not c.order.
KEYWORDS = frozenset(
    (
        *(
            "AND",
            "ARRAY",
            "AS",
            "ASC",
            "BETWEEN",
            "BY",
            "DESC",
            "DISTINCT",
            "ESCAPE",
            "EXISTS",
            "FALSE",
            "FROM",
        ),
        *("GROUP", "IN", "JOIN", "LIKE", "LIMIT", "NOT", "NULL", "OFFSET", "OR", "ORDER", "SELECT", "TOP"),
        *("TRUE", "UDF", "UNDEFINED", "VALUE", "WHERE"),
    )
)

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*)
    |(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<parameter>@[A-Za-z0-9_]+)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<symbol><=|>=|!=|<>|\?\?|\|\||[-+*/%=<>(),.\[\]{}:])""",
    re.VERBOSE | re.DOTALL,
)
_MAX_DIGITS = 300


def tokenize(text: str) -> list[Token]:
    """All tokens of a query, ending with one of kind END."""
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise SqlError(f"{text[position]!r} is not expected here.", position)
        position = match.end()
        if match.lastgroup != "space":
            tokens.append(_token(match))
    tokens.append(Token(TokenKind.END, "", len(text), len(text)))
    return tokens


def _token(match: re.Match[str]) -> Token:
    kind, text, (start, end) = TokenKind(match.lastgroup), match.group(), match.span()
    if kind is TokenKind.STRING:
        return Token(kind, text, start, end, _string(text, start))
    if kind is TokenKind.NUMBER:
        return Token(kind, text, start, end, _number(text, start))
    if kind is TokenKind.NAME and text.upper() in KEYWORDS:
        return Token(TokenKind.KEYWORD, text.upper(), start, end)
    return Token(kind, text, start, end)


def _string(text: str, start: int) -> str:
    """A literal's value: the escapes are JSON's, plus the quote of either kind."""
    try:
        value = orjson.loads(f'"{_escape_controls(_as_json(text[1:-1]))}"')
    except orjson.JSONDecodeError as error:
        raise SqlError(f"the string {text[:40]} has an escape that is not known.", start) from error
    return str(value)


def _as_json(inner: str) -> str:
    return re.sub(r'\\.|"', lambda match: {"\\'": "'", '"': '\\"'}.get(match.group(), match.group()), inner)


def _escape_controls(inner: str) -> str:
    return re.sub(r"[\x00-\x1f]", lambda match: f"\\u{ord(match.group()):04x}", inner)


def _number(text: str, start: int) -> int | float:
    if len(text) > _MAX_DIGITS:
        raise SqlError("the number has too many digits.", start)
    value = as_number(int(text) if text.isdigit() else float(text))
    if value is UNDEFINED:
        raise SqlError(f"the number {text[:40]} is too large.", start)
    return value
