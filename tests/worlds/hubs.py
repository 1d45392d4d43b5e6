"""A hub, the worker that its trigger calls, and recorded events of systems that people have."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shared.app.parts import Parts
from shared.entries.changes.received_event import ReceivedEvent
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.monitoring.counters import Counters
from shared.pipeline.dead_letters.rows import DEAD_LETTER_TABLE
from shared.tables.accounts import Accounts
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.world import KeptBlobs, definitions_of, services_on, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

RECORDED = Path(__file__).parent / "events"
RECORDINGS = sorted(file.stem for file in RECORDED.glob("*.jsonl"))
START = datetime(2026, 11, 18, 12, tzinfo=UTC)

_CHANGED = """
sources: {orders: {eventHub: hub, events: debezium, id: ID}}
indexes: {by-town: {source: orders, partition: town, project: [total]}}
version: 1
"""
# What a user writes for each recording, and the entries that it must then have: town, id and total.
ORDERS_BY_TOWN = [("Bergen", "1001", 45), ("Oslo", "1003", 99)]
DEFINITIONS = {
    "postgresql": _CHANGED.replace("ID", "id"),
    "mysql": _CHANGED.replace("ID", "id"),
    "mongodb": _CHANGED.replace("ID", "_id"),
    "kafka-connect": """
version: 1
sources:
  orders: {eventHub: hub, events: document, partitionKey: customer_id, version: updated, deletes: {when: removed}}
indexes: {by-town: {source: orders, partition: town, project: [total]}}
""",
    "event-grid": """
version: 1
sources:
  orders:
    eventHub: hub
    events:
      when: type == 'Microsoft.Storage.BlobCreated' || type == 'Microsoft.Storage.BlobDeleted'
      id: subject
      version: time
      document: data
      delete: type == 'Microsoft.Storage.BlobDeleted'
indexes: {by-town: {source: orders, partition: contentType, project: [contentLength]}}
""",
}
_PHOTO = "/blobServices/default/containers/photos/blobs/harbour.png"


def definitions_for(recording: str) -> str:
    """The definitions for a recording, which may have a schema or a CloudEvent around its events, or share a hub."""
    plain = recording
    for suffix in ("-with-schema", "-cloudevents", "-one-hub"):
        plain = plain.removesuffix(suffix)
    return DEFINITIONS[plain]


def expected_of(recording: str) -> list[tuple[Any, ...]]:
    """The entries after all events of a recording: partition, id and the projected value."""
    return [("image/png", _PHOTO, 90000)] if recording == "event-grid" else ORDERS_BY_TOWN


def recorded(name: str) -> list[ReceivedEvent]:
    """The events of a recording, as the hub got them one after the other."""
    lines = (RECORDED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [arrived(json.loads(line), number) for number, line in enumerate(lines)]


def arrived(kept: dict[str, Any], number: int = 0) -> ReceivedEvent:
    """An event that arrived as the n-th."""
    when = (START + timedelta(milliseconds=number)).isoformat()
    return ReceivedEvent.from_plain({"enqueued": when, "sequenceNumber": number, **kept})


def event(body: object, number: int = 0, **more: Any) -> ReceivedEvent:
    """An event with this body: bytes as they are, anything else as JSON."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return ReceivedEvent(raw, START + timedelta(milliseconds=number), number, **more)


class HubWorld:
    """An app over tables in memory; its worker gets what a test says a hub delivers."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tables = MemoryTables()
        self.blobs = KeptBlobs()
        self.counters = Counters()
        self.now_seconds = START.timestamp() + 60

    async def started(self) -> HubWorld:
        """After the start of a process with the world's definitions. The one before has left only what it stored."""
        services = services_on(Accounts({DEFAULT_ACCOUNT: self.tables}), lambda: self.now_seconds, blobs=self.blobs)
        report = self.counters.batch_applied
        self.parts = await Parts(definitions_of(self.text), replace(services, report=report)).ready()
        return self

    async def deliver(self, events: Sequence[ReceivedEvent], hub: str = "hub") -> None:
        """Deliver one batch."""
        await self.parts.worker.apply_events(hub, events)

    def counted(self, source: str, what: str) -> int:
        """A count of a source, as the status shows it."""
        return sum(count for measure, count in self.counters.now().items() if measure == ("source", source, what))

    async def entries(self, index: str = "by-town") -> list[tuple[Any, ...]]:
        """What readers see of an index: partition, id and projected values, in order."""
        snapshot = await self.parts.catalog.read()
        found: list[tuple[Any, ...]] = []
        for generation in snapshot.of_index(index):
            for row in visible([row.entity for row in await self._rows(generation.table)]):
                values = [value for name, value in row.items() if not name.startswith("_") and name not in _KEYS]
                found.append((*json.loads(row["_key"]).values(), json.loads(row["_fact"])["id"], *values))
        return sorted(found)

    async def dead_letters(self) -> list[tuple[str, str]]:
        """Source and reason of each dead letter."""
        rows = await self._rows(DEAD_LETTER_TABLE)
        return sorted((str(row.entity["PartitionKey"]), str(row.entity["reason"])) for row in rows)

    async def _rows(self, table: str) -> list[Any]:
        found: list[Any] = []
        continuation = None
        while True:
            page = await self.tables.query(table, None, continuation=continuation)
            found += page.rows
            if (continuation := page.continuation) is None:
                return found


_KEYS = frozenset({"PartitionKey", "RowKey", "Timestamp"})
