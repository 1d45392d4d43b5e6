"""Containers: their settings, ranges and life. Found by name or rid, and kept in memory while they live."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from local.emulators.cosmos.data import container_settings, ranges
from local.emulators.cosmos.data.databases import checked_name
from local.emulators.cosmos.data.partition_key import PartitionKeyDefinition
from local.emulators.cosmos.data.resource_ids import container_rid, database_rid, range_rid
from local.emulators.cosmos.errors import OWNER_NOT_FOUND, BadRequestError, ConflictError, NotFoundError
from local.emulators.cosmos.exchange import encode_json

if TYPE_CHECKING:
    from local.emulators.cosmos.data.clock import Clock
    from local.emulators.cosmos.data.databases import Database
    from local.emulators.cosmos.data.ranges import Range
    from local.emulators.cosmos.data.store import DocumentStore

_OWNED_TABLES = ("items", "versions", "ranges")


@dataclass(frozen=True, slots=True)
class Container:
    """One container with its live ranges, as of the last change of either."""

    number: int
    database: int
    path: str
    settings: dict[str, Any]
    ts: int
    revision: int
    partition_key: PartitionKeyDefinition
    default_ttl_seconds: int | None
    ranges: tuple[Range, ...]
    rid: str
    link: str

    def describe(self) -> dict[str, Any]:
        """The container as its answers show it."""
        return {
            **self.settings,
            "_rid": self.rid,
            "_self": self.link,
            "_etag": f'"{self.number:08x}-0000-0000-{self.revision:04x}-{self.ts:012x}"',
            "_ts": self.ts,
            "_docs": "docs/",
            "_sprocs": "sprocs/",
            "_triggers": "triggers/",
            "_udfs": "udfs/",
            "_conflicts": "conflicts/",
        }

    def describe_ranges(self) -> list[dict[str, Any]]:
        """The live ranges as `pkranges` shows them."""
        return [
            ranges.describe(each, range_rid(self.database, self.number, each.number), self.link, len(self.ranges))
            for each in self.ranges
        ]

    def ranges_etag(self) -> str:
        """Changes with every split: the highest range number does."""
        return f'"{self.number}-{max(each.number for each in self.ranges)}"'

    def range_of(self, effective_key: str) -> Range:
        """The range that holds an effective key."""
        return next(each for each in self.ranges if each.holds(effective_key))


class Containers:
    """The containers of all databases."""

    def __init__(self, store: DocumentStore, clock: Clock, range_count: int) -> None:
        self._store = store
        self._clock = clock
        self._range_count = range_count
        self._known: dict[tuple[int, str], Container] = {}

    def create(self, database: Database, body: dict[str, Any]) -> Container:
        name = checked_name(body)
        settings = container_settings.checked(body)
        try:
            with self._store.transaction():
                number = self._store.execute(
                    "INSERT INTO containers (database, name, settings, ts) VALUES (?, ?, ?, ?)",
                    (database.number, name, encode_json(settings).decode(), self._clock.timestamp()),
                ).lastrowid
                ranges.create_ranges(self._store, number or 0, self._range_count)
        except sqlite3.IntegrityError as error:
            raise ConflictError(f"A container {name!r} exists already in {database.name!r}.") from error
        return self.read(database, name)

    def read(self, database: Database, name: str) -> Container:
        """The container with this name in `database`."""
        known = self._known.get((database.number, name))
        if known is None:
            known = self._load(database, "c.name = ?", name)
            self._known[(database.number, name)] = known
        return known

    def read_numbered(self, database: Database, number: int) -> Container:
        """The container that a rid names."""
        return self._load(database, "c.number = ?", number)

    def _load(self, database: Database, condition: str, value: str | int) -> Container:
        row = self._store.execute(
            "SELECT c.number, c.name, c.settings, c.ts, c.revision FROM containers c"
            f" WHERE c.database = ? AND {condition}",
            (database.number, value),
        ).fetchone()
        if row is None:
            raise NotFoundError(f"There is no container {value!r} in {database.name!r}.", OWNER_NOT_FOUND)
        number, name, text, ts, revision = row
        settings = orjson.loads(text)
        rid = container_rid(database.number, number)
        return Container(
            number=number,
            database=database.number,
            path=f"dbs/{database.name}/colls/{name}",
            settings=settings,
            ts=ts,
            revision=revision,
            partition_key=PartitionKeyDefinition.parse(settings["partitionKey"]),
            default_ttl_seconds=settings.get("defaultTtl"),
            ranges=ranges.live_ranges(self._store, number),
            rid=rid,
            link=f"dbs/{database_rid(database.number)}/colls/{rid}/",
        )

    def list(self, database: Database) -> list[Container]:
        rows = self._store.execute(
            "SELECT name FROM containers WHERE database = ? ORDER BY number", (database.number,)
        ).fetchall()
        return [self.read(database, name) for (name,) in rows]

    def replace(self, database: Database, container: Container, body: dict[str, Any]) -> Container:
        """New settings for a container; its id and partition key stay."""
        settings = container_settings.checked(body)
        if settings["id"] != container.settings["id"]:
            raise BadRequestError('The "id" of a container cannot be changed.')
        if PartitionKeyDefinition.parse(settings["partitionKey"]) != container.partition_key:
            raise BadRequestError("The partition key of a container cannot be changed.")
        self._store.execute(
            "UPDATE containers SET settings = ?, ts = ?, revision = revision + 1 WHERE number = ?",
            (encode_json(settings).decode(), self._clock.timestamp(), container.number),
        )
        self._known.clear()
        return self.read(database, container.settings["id"])

    def delete(self, container: Container) -> None:
        """Remove a container with all it holds."""
        with self._store.transaction():
            for table in _OWNED_TABLES:
                self._store.execute(f"DELETE FROM {table} WHERE container = ?", (container.number,))
            self._store.execute("DELETE FROM containers WHERE number = ?", (container.number,))
        self._known.clear()

    def split(self, container: Container, range_name: str) -> tuple[int, int]:
        """Split one range in two; returns the children's numbers."""
        children = ranges.split_range(self._store, container.number, ranges.find_range(container.ranges, range_name))
        self._known.clear()
        return children
