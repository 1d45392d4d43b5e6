"""The data of the local Cosmos DB: one SQLite file, its tables and its transactions.

A document version is stored once, in `versions`; `items` says which version of each item is the newest. The
latest-version feed walks `items` by log sequence number (lsn), the all-versions feed walks `versions`. Each version has
an `lsn` of its own here. Those of a transactional batch show the last of them, `batch_lsn`, as the service does.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from local.process.errors import LocalRunError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

FILE_NAME = "cosmos.db"
_SCHEMA_VERSION = 2
# What the format before it lacks.
_UPGRADES = {1: "ALTER TABLE versions ADD COLUMN batch_lsn INTEGER"}
# How long to wait for a server that is just ending.
_LOCK_SECONDS = 2.0
# This many writes do not wait for more.
_MOST_TO_SHARE = 32

# An exclusive lock keeps a second server off the file, and spares the shared-memory traffic of every
# commit. NORMAL in WAL mode survives the death of the process at any instant; only a power cut may lose the
# last commits.
_PRAGMAS = """
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA wal_autocheckpoint = 16000;
PRAGMA cache_size = -65536;
"""

_TABLES = f"""
CREATE TABLE IF NOT EXISTS databases (
    number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, ts INTEGER NOT NULL);

CREATE TABLE IF NOT EXISTS containers (
    number INTEGER PRIMARY KEY AUTOINCREMENT, database INTEGER NOT NULL, name TEXT NOT NULL,
    settings TEXT NOT NULL, ts INTEGER NOT NULL, revision INTEGER NOT NULL DEFAULT 0,
    UNIQUE (database, name));

CREATE TABLE IF NOT EXISTS ranges (
    container INTEGER NOT NULL, number INTEGER NOT NULL, low TEXT NOT NULL, high TEXT NOT NULL,
    parents TEXT NOT NULL, first_lsn INTEGER NOT NULL, gone INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (container, number)) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS items (
    container INTEGER NOT NULL, key TEXT NOT NULL, id TEXT NOT NULL, range INTEGER NOT NULL,
    lsn INTEGER NOT NULL, serial INTEGER NOT NULL, etag TEXT NOT NULL, expires INTEGER,
    PRIMARY KEY (container, key, id)) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS items_by_lsn ON items (container, range, lsn);
CREATE UNIQUE INDEX IF NOT EXISTS items_by_serial ON items (container, serial, range);
CREATE INDEX IF NOT EXISTS items_by_expiry ON items (expires) WHERE expires IS NOT NULL;

CREATE TABLE IF NOT EXISTS versions (
    container INTEGER NOT NULL, range INTEGER NOT NULL, lsn INTEGER NOT NULL, epk TEXT NOT NULL,
    ts INTEGER NOT NULL, operation TEXT NOT NULL, previous_lsn INTEGER NOT NULL, body BLOB,
    key TEXT, id TEXT, batch_lsn INTEGER);
CREATE UNIQUE INDEX IF NOT EXISTS versions_by_lsn ON versions (container, range, lsn);

PRAGMA user_version = {_SCHEMA_VERSION};
"""


class DocumentStore:
    """The open database file. All use is from one thread: the event loop's."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME
        self._committing: asyncio.Future[None] | None = None
        self._shared_by = 0
        self._connection = _open(self._path)
        try:
            self._prepare()
        except LocalRunError:
            self.close()
            raise
        except sqlite3.DatabaseError as error:
            self.close()
            raise LocalRunError(
                f"{self._path} cannot be opened ({error}): stop the other server that uses this folder, "
                "or choose another one with --data."
            ) from error

    def _prepare(self) -> None:
        self._connection.executescript(_PRAGMAS)
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if version not in (0, *_UPGRADES, _SCHEMA_VERSION):
            raise LocalRunError(f"{self._path} has format {version}, not {_SCHEMA_VERSION}: use a fresh folder.")
        if version in _UPGRADES:
            self._connection.execute(_UPGRADES[version])
        self._connection.executescript(_TABLES)

    def close(self) -> None:
        if self._committing is not None:
            self._connection.execute("COMMIT")
        self._connection.close()

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)

    def execute_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        self._connection.executemany(statement, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All writes inside happen together, or none does. They last once `settled` returns."""
        if self._committing is None:
            self._begin()
        self._shared_by += 1
        self._connection.execute("SAVEPOINT one")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK TO one")
            raise
        finally:
            self._connection.execute("RELEASE one")

    def _begin(self) -> None:
        """Open a transaction that requests at the same time share.

        A commit costs several page writes however little it holds; under load many requests pay for one.
        """
        loop = asyncio.get_running_loop()
        self._connection.execute("BEGIN IMMEDIATE")
        self._shared_by = 0
        self._committing = loop.create_future()
        loop.call_soon(self._commit_when_quiet, self._committing, 0)

    def _commit_when_quiet(self, committing: asyncio.Future[None], shared_before: int) -> None:
        """Commit after the first turn of the event loop in which no request joined, or when many have."""
        if shared_before < self._shared_by < _MOST_TO_SHARE:
            asyncio.get_running_loop().call_soon(self._commit_when_quiet, committing, self._shared_by)
        else:
            self._commit(committing)

    def _commit(self, committing: asyncio.Future[None]) -> None:
        self._committing = None
        try:
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            committing.set_exception(error)
        else:
            committing.set_result(None)

    async def settled(self) -> None:
        """Return when all that was written so far would survive a kill.

        Every answer waits for it, also one that only reads: it may show what another request is just writing.
        """
        if self._committing is not None:
            await asyncio.shield(self._committing)


def _open(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return sqlite3.connect(path, isolation_level=None, cached_statements=256, timeout=_LOCK_SECONDS)
    except (OSError, sqlite3.Error) as error:
        raise LocalRunError(f"{path} cannot be opened ({error}): choose a folder that can be written to.") from error
