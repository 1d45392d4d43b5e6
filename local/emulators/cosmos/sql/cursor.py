"""Walking over tokens: look at the next one, take it, or say what was expected instead, and where."""

from __future__ import annotations

from typing import NoReturn

from local.emulators.cosmos.errors import SqlError
from local.emulators.cosmos.sql.tokens import Token, TokenKind, tokenize

# Deeper queries are refused before Python's own recursion limit is near: a level costs it some 20 calls.
MAX_DEPTH = 30


class Cursor:
    """A place in the tokens of one query."""

    def __init__(self, text: str) -> None:
        self._tokens = tokenize(text)
        self._next = 0
        self._depth = 0

    @property
    def token(self) -> Token:
        """The next token."""
        return self._tokens[self._next]

    @property
    def last_end(self) -> int:
        """Where the token before ends."""
        return self._tokens[self._next - 1].end if self._next else 0

    def is_at(self, *texts: str) -> bool:
        """Whether the next token is one of these keywords or symbols."""
        return self.token.kind in (TokenKind.KEYWORD, TokenKind.SYMBOL) and self.token.text in texts

    def advance(self) -> Token:
        """Take the next token of any kind."""
        token = self.token
        if token.kind is not TokenKind.END:
            self._next += 1
        return token

    def accept(self, *texts: str) -> str | None:
        """Take the next token if it is one of these keywords or symbols."""
        return self.advance().text if self.is_at(*texts) else None

    def expect(self, text: str) -> None:
        if not self.accept(text):
            self.fail(f"{text} is expected")

    def expect_kind(self, kind: TokenKind) -> Token:
        if self.token.kind is not kind:
            self.fail(f"a {kind.value} is expected")
        return self.advance()

    def fail(self, what: str) -> NoReturn:
        """Refuse the query at the next token."""
        token = self.token
        found = f"{token.text[:40]!r}" if token.kind is not TokenKind.END else token.kind.value
        raise SqlError(f"{what}, but {found} is found.", token.start)

    def enter(self) -> None:
        """Count one level of nesting; `leave` gives it back."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise SqlError(f"the expression is nested deeper than {MAX_DEPTH} levels.", self.token.start)

    def leave(self) -> None:
        self._depth -= 1
