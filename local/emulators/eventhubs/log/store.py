"""The log of every partition, in one SQLite file.

An append is one transaction and is acknowledged after its commit. WAL with synchronous=NORMAL keeps every commit when
this process is killed (not when the machine loses power). The file is locked by its process: the tails of partitions
live in memory, so that a second server on it would give a sequence number twice.
"""

from __future__ import annotations

import bisect
import sqlite3
from typing import TYPE_CHECKING, Literal

from local.emulators.eventhubs.log.events import StoredEvent
from local.emulators.eventhubs.log.hubs import DEFAULT_GROUP, Hub, Partition
from local.process.errors import LocalRunError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from local.emulators.eventhubs.log.events import NewEvent
    from local.emulators.eventhubs.log.hubs import GroupSpec, HubSpec

FILE_NAME = "eventhubs.db"
# How long the previous process on this folder may take to end.
LOCK_SECONDS = 10.0
# A page holds a dozen usual events; at SQLite's 4 096 bytes an append costs a fifth more.
PAGE_BYTES = 8192
# A checkpoint waits for the disk: rarely, then. The log may grow to 32 MiB.
CHECKPOINT_PAGES = 4000
# What an event takes beside its message, so that offsets grow and retention by size counts empty events too.
EVENT_OVERHEAD_BYTES = 32

_SCHEMA = """
CREATE TABLE IF NOT EXISTS hubs(name TEXT PRIMARY KEY COLLATE NOCASE, created_ms INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS consumer_groups(
    hub TEXT NOT NULL COLLATE NOCASE, name TEXT NOT NULL COLLATE NOCASE, PRIMARY KEY(hub, name));
CREATE TABLE IF NOT EXISTS partitions(
    id INTEGER PRIMARY KEY, hub TEXT NOT NULL COLLATE NOCASE, number INTEGER NOT NULL,
    begin_sequence INTEGER NOT NULL DEFAULT 0, next_sequence INTEGER NOT NULL DEFAULT 0,
    next_offset INTEGER NOT NULL DEFAULT 0, last_offset INTEGER NOT NULL DEFAULT -1,
    last_enqueued_ms INTEGER NOT NULL DEFAULT 0, UNIQUE(hub, number));
CREATE TABLE IF NOT EXISTS events(
    partition INTEGER NOT NULL, sequence INTEGER NOT NULL, offset INTEGER NOT NULL, enqueued_ms INTEGER NOT NULL,
    annotation_count INTEGER NOT NULL, annotations BLOB NOT NULL, message BLOB NOT NULL,
    PRIMARY KEY(partition, sequence)) WITHOUT ROWID;
"""

Column = Literal["sequence", "offset", "enqueued_ms"]


class EventStore:
    """Hubs and their events."""

    def __init__(self, folder: Path, clock_ms: Callable[[], int]) -> None:
        self._clock_ms = clock_ms
        self._database = _open(folder / FILE_NAME)
        self._hubs: dict[str, Hub] = {}

    def create(self, hubs: Sequence[HubSpec], groups: Sequence[GroupSpec]) -> None:
        """Make sure that these hubs and groups exist, beside those that the file has already."""
        with self._database:
            for hub in hubs:
                self._create_hub(hub)
            for (name,) in self._database.execute("SELECT name FROM hubs").fetchall():
                wanted = [DEFAULT_GROUP, *(group.name for group in groups if group.belongs_to(name))]
                rows = [(name, group) for group in wanted]
                self._database.executemany("INSERT OR IGNORE INTO consumer_groups VALUES(?,?)", rows)
        self._hubs = {hub.name.lower(): hub for hub in self._load()}
        for group in groups:
            if group.hub is not None and self.hub(group.hub) is None:
                raise LocalRunError(f"Consumer group {group.hub}/{group.name}: add --hub {group.hub}:PARTITIONS.")

    def _create_hub(self, hub: HubSpec) -> None:
        found = self._database.execute("SELECT count(*) FROM partitions WHERE hub=?", (hub.name,)).fetchone()[0]
        if found and found != hub.partition_count:
            raise LocalRunError(
                f"Hub {hub.name} has {found} partitions, not {hub.partition_count}: the number cannot change. Ask for "
                f"{hub.name}:{found}, or start with another data folder."
            )
        if not found:
            self._database.execute("INSERT INTO hubs VALUES(?,?)", (hub.name, self._clock_ms()))
            rows = [(hub.name, number) for number in range(hub.partition_count)]
            self._database.executemany("INSERT INTO partitions(hub, number) VALUES(?,?)", rows)

    def _load(self) -> Iterator[Hub]:
        for name, created_ms in self._database.execute("SELECT name, created_ms FROM hubs").fetchall():
            rows = self._database.execute(
                "SELECT id, number, begin_sequence, next_sequence, next_offset, last_offset, last_enqueued_ms"
                " FROM partitions WHERE hub=? ORDER BY number",
                (name,),
            )
            groups = self._database.execute("SELECT name FROM consumer_groups WHERE hub=?", (name,))
            partitions = tuple(Partition(*row) for row in rows)
            yield Hub(name, created_ms, partitions, frozenset(group.lower() for (group,) in groups))

    @property
    def hubs(self) -> Sequence[Hub]:
        """Every hub."""
        return list(self._hubs.values())

    def hub(self, name: str) -> Hub | None:
        """The hub of this name; case does not matter, as in Azure."""
        return self._hubs.get(name.lower())

    def append(self, partition: Partition, events: Sequence[NewEvent]) -> None:
        """Add events at the end, all or none, and wake the readers."""
        if not events:
            return
        enqueued_ms = max(self._clock_ms(), partition.last_enqueued_ms)
        sequence, offset, rows = partition.next_sequence, partition.next_offset, []
        for event in events:
            rows.append(
                (partition.id, sequence, offset, enqueued_ms, event.annotation_count, event.annotations, event.message)
            )
            sequence += 1
            offset += len(event.message) + len(event.annotations) + EVENT_OVERHEAD_BYTES
        last_offset = rows[-1][2]
        with self._database:
            self._database.executemany("INSERT INTO events VALUES(?,?,?,?,?,?,?)", rows)
            self._database.execute(
                "UPDATE partitions SET next_sequence=?, next_offset=?, last_offset=?, last_enqueued_ms=? WHERE id=?",
                (sequence, offset, last_offset, enqueued_ms, partition.id),
            )
        partition.next_sequence, partition.next_offset = sequence, offset
        partition.last_offset, partition.last_enqueued_ms = last_offset, enqueued_ms
        for reader in partition.readers:
            reader.pump()

    def read(self, partition: Partition, sequence: int, max_count: int) -> Iterator[StoredEvent]:
        """The events from `sequence` on, in order; what is not consumed is not loaded."""
        rows = self._database.execute(
            "SELECT sequence, offset, enqueued_ms, annotation_count, annotations, message FROM events"
            " WHERE partition=? AND sequence>=? ORDER BY sequence LIMIT ?",
            (partition.id, sequence, max_count),
        )
        return (StoredEvent(*row) for row in rows)

    def first_sequence(self, partition: Partition, column: Column, value: int, *, inclusive: bool) -> int:
        """The first event whose `column` is greater than `value` (or equal); the next one to come if none is.

        Sequence numbers have no gaps and all three columns grow with them, so that halving needs no index.
        """
        search = bisect.bisect_left if inclusive else bisect.bisect_right
        sequences = range(partition.begin_sequence, partition.next_sequence)
        index = search(sequences, value, key=lambda sequence: self._value(partition, sequence, column))
        return partition.begin_sequence + index

    def _value(self, partition: Partition, sequence: int, column: Column) -> int:
        row = self._database.execute(
            f"SELECT {column} FROM events WHERE partition=? AND sequence=?", (partition.id, sequence)
        ).fetchone()
        return int(row[0])

    def trim(self, partition: Partition, begin_sequence: int) -> None:
        """Forget the events before `begin_sequence`."""
        with self._database:
            self._database.execute(
                "DELETE FROM events WHERE partition=? AND sequence<?", (partition.id, begin_sequence)
            )
            self._database.execute("UPDATE partitions SET begin_sequence=? WHERE id=?", (begin_sequence, partition.id))
        partition.begin_sequence = begin_sequence

    def close(self) -> None:
        """Fold the write-ahead log into the file and release it."""
        self._database.close()


def _open(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(path, timeout=LOCK_SECONDS)
    except (OSError, sqlite3.Error) as error:
        raise LocalRunError(f"{path} cannot be opened ({error}): choose a folder that can be written to.") from error
    try:
        database.execute("PRAGMA locking_mode=EXCLUSIVE")
        database.execute(f"PRAGMA page_size={PAGE_BYTES}")
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
        database.executescript(_SCHEMA)
    except sqlite3.Error as error:
        database.close()
        raise LocalRunError(
            f"{path} cannot be used ({error}): stop the other server on this folder, or choose another folder."
        ) from error
    return database
