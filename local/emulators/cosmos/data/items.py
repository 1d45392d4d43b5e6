"""Items: reading one, and the writes that every operation is made of.

A write finds the current version, checks the caller's conditions against it, takes the next sequence number
of the item's range, and stores the new version. The caller wraps it in a transaction: one write alone, or a
whole batch.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from local.emulators.cosmos.data import documents
from local.emulators.cosmos.data.ranges import last_lsn
from local.emulators.cosmos.errors import ConflictError, NotFoundError, PreconditionFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local.emulators.cosmos.data.clock import Clock
    from local.emulators.cosmos.data.containers import Container
    from local.emulators.cosmos.data.partition_key import PartitionKey
    from local.emulators.cosmos.data.store import DocumentStore

WriteMode = Literal["create", "upsert", "replace"]

_FIND = "SELECT range, lsn, serial, etag, expires FROM items WHERE container = ? AND key = ? AND id = ?"
_READ = (
    "SELECT v.body, i.etag, i.range, i.lsn FROM items i JOIN versions v"
    " ON v.container = i.container AND v.range = i.range AND v.lsn = i.lsn"
    " WHERE i.container = ? AND i.key = ? AND i.id = ? AND (i.expires IS NULL OR i.expires > ?)"
)
_PUT = (
    "INSERT INTO items (container, key, id, range, lsn, serial, etag, expires)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (container, key, id) DO UPDATE SET range = excluded.range, lsn = excluded.lsn,"
    " etag = excluded.etag, expires = excluded.expires"
)
_RENAME = "UPDATE items SET id = ? WHERE container = ? AND key = ? AND id = ?"
_REMOVE = "DELETE FROM items WHERE container = ? AND key = ? AND id = ?"
_LOG = (
    "INSERT INTO versions (container, range, lsn, epk, ts, operation, previous_lsn, body, key, id)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_JOIN = "UPDATE versions SET batch_lsn = ? WHERE container = ? AND range = ? AND lsn > ?"


@dataclass(frozen=True, slots=True)
class EtagConditions:
    """What must hold of the current version for a write to happen."""

    if_match: str | None = None
    if_none_match: str | None = None

    def check(self, etag: str) -> None:
        """Refuse when the version with `etag` does not satisfy them."""
        if self.if_match is not None and self.if_match not in ("*", etag):
            raise PreconditionFailedError("If-Match does not hold: the item has another _etag. Read it again.")
        if self.if_none_match is not None and self.if_none_match in ("*", etag):
            raise PreconditionFailedError("If-None-Match does not hold: the item exists with that _etag.")


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """What an operation on one item did, or saw."""

    status: int
    body: bytes
    etag: str
    range_number: int
    lsn: int


@dataclass(frozen=True, slots=True)
class _Current:
    range_number: int
    lsn: int
    serial: int
    etag: str
    expires: int | None


class Items:
    """The items of all containers."""

    def __init__(self, store: DocumentStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def read(self, container: Container, key: PartitionKey, item_id: str) -> ItemOutcome:
        """The newest version of one item."""
        now = self._clock.timestamp()
        row = self._store.execute(_READ, (container.number, key.text, item_id, now)).fetchone()
        if row is None:
            raise NotFoundError(f"There is no item {item_id!r} with partition key {key.text}.")
        return ItemOutcome(200, *row)

    @contextmanager
    def transaction(self, container: Container, key: PartitionKey) -> Iterator[None]:
        """All writes inside happen together or not at all, and have one sequence number and one second."""
        home = container.range_of(key.effective)
        with self._store.transaction(), self._clock.held():
            before = last_lsn(self._store, container.number, home)
            yield
            last = last_lsn(self._store, container.number, home)
            self._store.execute(_JOIN, (last, container.number, home.number, before))

    def put(
        self,
        container: Container,
        mode: WriteMode,
        document: dict[str, Any],
        key: PartitionKey,
        conditions: EtagConditions,
        item_id: str,
    ) -> ItemOutcome:
        """Store a checked document as, or in place of, the item `item_id`. Call it inside a transaction.

        Conditions are those of a version: where there is none, an upsert creates the item, whatever they say.
        """
        current = self._current(container, key, item_id)
        if current is not None and mode == "create":
            raise ConflictError(f"An item {item_id!r} with partition key {key.text} exists already.")
        if current is None and mode == "replace":
            raise NotFoundError(f"There is no item {item_id!r} with partition key {key.text}.")
        if current is not None:
            conditions.check(current.etag)
        if document["id"] != item_id:
            self._rename(container, key, item_id, document["id"])
        effective = key.effective
        home = container.range_of(effective)
        lsn = last_lsn(self._store, container.number, home) + 1
        ts = self._clock.timestamp()
        etag = f'"{ts:08x}-{home.number:04x}-{container.number & 0xFFFF:04x}-0000-{lsn:012x}"'
        serial = current.serial if current else home.number << 48 | lsn
        body = documents.stamped(container, document, serial, etag, ts)
        expires = documents.expiry(container, document, ts)
        self._store.execute(_PUT, (container.number, key.text, document["id"], home.number, lsn, serial, etag, expires))
        operation, previous = ("replace", current.lsn) if current else ("create", 0)
        place = (container.number, home.number, lsn, effective, ts)
        self._store.execute(_LOG, (*place, operation, previous, body, None, None))
        return ItemOutcome(200 if current else 201, body, etag, home.number, lsn)

    def _rename(self, container: Container, key: PartitionKey, item_id: str, new_id: str) -> None:
        if self._current(container, key, new_id) is not None:
            raise ConflictError(f"An item {new_id!r} with partition key {key.text} exists already.")
        self._store.execute(_RENAME, (new_id, container.number, key.text, item_id))

    def delete(self, container: Container, key: PartitionKey, item_id: str, conditions: EtagConditions) -> ItemOutcome:
        """Remove an item. Call it inside a transaction."""
        current = self._current(container, key, item_id)
        if current is None:
            raise NotFoundError(f"There is no item {item_id!r} with partition key {key.text}.")
        conditions.check(current.etag)
        return self._remove(container, key, item_id, current, "delete")

    def expire(self, container: Container, key: PartitionKey, item_id: str) -> None:
        """Remove an item whose time is over; looking for it is enough. Call it inside a transaction."""
        self._current(container, key, item_id)

    def _current(self, container: Container, key: PartitionKey, item_id: str) -> _Current | None:
        """The current version; one whose time to live is over is removed, as if it had been before."""
        row = self._store.execute(_FIND, (container.number, key.text, item_id)).fetchone()
        if row is None:
            return None
        current = _Current(*row)
        if current.expires is not None and current.expires <= self._clock.timestamp():
            self._remove(container, key, item_id, current, "expire")
            return None
        return current

    def _remove(
        self, container: Container, key: PartitionKey, item_id: str, current: _Current, operation: str
    ) -> ItemOutcome:
        effective = key.effective
        home = container.range_of(effective)
        lsn = last_lsn(self._store, container.number, home) + 1
        ts = self._clock.timestamp()
        self._store.execute(_REMOVE, (container.number, key.text, item_id))
        place = (container.number, home.number, lsn, effective, ts)
        self._store.execute(_LOG, (*place, operation, current.lsn, None, key.text, item_id))
        return ItemOutcome(204, b"", current.etag, home.number, lsn)
