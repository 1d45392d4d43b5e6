"""Databases: made, read, listed and dropped."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local.emulators.cosmos.data.resource_ids import database_rid
from local.emulators.cosmos.errors import OWNER_NOT_FOUND, BadRequestError, ConflictError, NotFoundError

if TYPE_CHECKING:
    from local.emulators.cosmos.data.clock import Clock
    from local.emulators.cosmos.data.store import DocumentStore

MAX_NAME_CHARS = 255
_FORBIDDEN = re.compile(r"[/\\?#\x00-\x1f]| $")


def checked_name(body: dict[str, Any]) -> str:
    """The `id` of a new database or container."""
    name = body.get("id")
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_CHARS:
        raise BadRequestError(f'"id" must be a string of 1 to {MAX_NAME_CHARS} characters.')
    if _FORBIDDEN.search(name):
        raise BadRequestError(f'"id" {name!r} must not contain / \\ ? # or control characters, nor end with a space.')
    return name


@dataclass(frozen=True, slots=True)
class Database:
    """One database as it is stored."""

    number: int
    name: str
    ts: int

    @property
    def rid(self) -> str:
        return database_rid(self.number)

    def describe(self) -> dict[str, Any]:
        """The database as its answers show it."""
        return {
            "id": self.name,
            "_rid": self.rid,
            "_self": f"dbs/{self.rid}/",
            "_etag": f'"{self.number:08x}-0000-0000-0000-{self.ts:012x}"',
            "_colls": "colls/",
            "_users": "users/",
            "_ts": self.ts,
        }


class Databases:
    """The databases of the account."""

    def __init__(self, store: DocumentStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[str, Database] = {}

    def create(self, body: dict[str, Any]) -> Database:
        name = checked_name(body)
        ts = self._clock.timestamp()
        try:
            number = self._store.execute("INSERT INTO databases (name, ts) VALUES (?, ?)", (name, ts)).lastrowid
        except sqlite3.IntegrityError as error:
            raise ConflictError(f"A database {name!r} exists already.") from error
        return Database(number or 0, name, ts)

    def read(self, name: str) -> Database:
        """The database with this name."""
        found = self.find(name)
        if found is None:
            raise NotFoundError(f"There is no database {name!r}.", OWNER_NOT_FOUND)
        return found

    def find(self, name: str) -> Database | None:
        """The database with this name, if there is one; those that were found once are kept in memory."""
        known = self._known.get(name)
        if known is None:
            row = self._store.execute("SELECT number, name, ts FROM databases WHERE name = ?", (name,)).fetchone()
            if row is None:
                return None
            known = self._known[name] = Database(*row)
        return known

    def list(self) -> list[Database]:
        rows = self._store.execute("SELECT number, name, ts FROM databases ORDER BY number").fetchall()
        return [Database(*row) for row in rows]

    def delete(self, database: Database) -> None:
        """Remove the database; its containers must be gone before."""
        self._store.execute("DELETE FROM databases WHERE number = ?", (database.number,))
        self._known.clear()
