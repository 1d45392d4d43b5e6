"""Events whose versions are the sender's converge, in whatever form, order, how often and to whichever worker."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.entries.changes.event_changes import EventReader
from shared.entries.changes.received_event import ReceivedEvent
from shared.pipeline.apply.intake import read_all
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.world import World, no_turn, visible

SOURCES = {
    "envelope": "{eventHub: orders, partitionKey: customer, version: revision}",
    "debezium": "{eventHub: orders, partitionKey: customer, events: debezium}",
    "mapping": "{eventHub: orders, events: {id: data.id, partitionKey: data.customer, version: data.revision, "
    "document: data, delete: gone}}",
}
DEFINITIONS = """
version: 1
sources: {orders: SOURCE}
indexes:
  by-town: {source: orders, partition: town, sort: [{path: total, type: integer, order: desc}], project: [note]}
  by-tag: {source: orders, each: {tag: tags}, partition: tag, project: [total]}
"""
FACTS, TOWNS, TAGS = ("o1", "o2", "o3"), ("Here", "There"), ("a", "b", "c")


@dataclass(frozen=True)
class Version:
    """One version of a fact; without a town it is a delete."""

    fact: str
    revision: int
    town: str | None
    total: int
    tags: tuple[str, ...]
    # As a CloudEvent, or with the schema of its row around it.
    is_wrapped: bool

    @property
    def document(self) -> dict[str, Any]:
        """What the fact is as of this version."""
        fields = {"town": self.town, "total": self.total, "tags": list(self.tags), "note": f"n{self.revision}"}
        return {"id": self.fact, "customer": "c", "revision": self.revision, **fields}

    def event(self, form: str) -> dict[str, Any]:
        """The event that says so."""
        if form == "debezium":
            return self._debezium()
        if form == "mapping":
            wrap = {"specversion": "1.0", "type": "order"} if self.is_wrapped else {}
            return {**wrap, "data": self.document, "gone": self.town is None}
        return self._cloud_event() if self.is_wrapped else self._envelope()

    def _debezium(self) -> dict[str, Any]:
        source = {"connector": "postgresql", "lsn": self.revision, "ts_ms": 5}
        gone = {"op": "d", "before": {"id": self.fact, "customer": "c"}, "after": None}
        event = {**(gone if self.town is None else {"op": "u", "after": self.document}), "source": source}
        return {"schema": {"type": "struct"}, "payload": event} if self.is_wrapped else event

    def _cloud_event(self) -> dict[str, Any]:
        kind = "deleted" if self.town is None else "upserted"
        names = {"subject": self.fact, "partitionkey": "c", "version": self.revision}
        event = {"specversion": "1.0", "type": f"order.{kind}", **names}
        return event if self.town is None else {**event, "data": self.document}

    def _envelope(self) -> dict[str, Any]:
        event = {"op": "upsert", "id": self.fact, "partitionKey": "c", "version": self.revision}
        return {**event, "op": "delete"} if self.town is None else {**event, "document": self.document}


@st.composite
def histories(draw: st.DrawFn) -> list[Version]:
    """Some versions of each fact, numbered upwards."""
    one = st.tuples(
        st.sampled_from([*TOWNS, None]), st.integers(0, 3), st.lists(st.sampled_from(TAGS), max_size=3), st.booleans()
    )
    return [
        Version(fact, revision, town, total, tuple(tags), is_wrapped)
        for fact in FACTS
        for revision, (town, total, tags, is_wrapped) in enumerate(draw(st.lists(one, min_size=1, max_size=5)), 1)
    ]


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[list[Version], list[tuple[bool, list[Version]]]]:
    """A history, and batches in which each of its events comes at least once; before some a worker is replaced."""
    history = draw(histories())
    again = draw(st.lists(st.sampled_from(history), max_size=10))
    events = draw(st.permutations(history + again))
    batches = []
    while events:
        size = draw(st.integers(1, len(events)))
        batches.append((draw(st.booleans()), events[:size]))
        events = events[size:]
    return history, batches


@pytest.mark.parametrize("form", sorted(SOURCES))
@given(delivered=deliveries())
def test_the_newest_version_of_each_fact_is_what_is_found(
    form: str, delivered: tuple[list[Version], list[tuple[bool, list[Version]]]]
) -> None:
    """By brute force from the newest version, whatever came late or twice."""
    history, batches = delivered
    newest = {version.fact: version for version in history}
    assert asyncio.run(_found_after(form, batches)) == _expected(newest.values())


async def _found_after(form: str, batches: list[tuple[bool, list[Version]]]) -> list[str]:
    world = World(MemoryTables(), DEFINITIONS.replace("SOURCE", SOURCES[form]), "orders")
    await world.create_tables()
    reader = EventReader(world.definitions.sources["orders"])
    number = 0
    for is_restarted, batch in batches:
        if is_restarted:
            world.restart()
        events = [
            ReceivedEvent(json.dumps(version.event(form)).encode(), datetime(2026, 1, 1, tzinfo=UTC), number + i)
            for i, version in enumerate(batch)
        ]
        number += len(batch)
        intake = await read_all("orders", events, lambda event: reader.read(*event), no_turn)
        assert not intake.unreadable
        await world.apply(*intake.changes)
    partitions = [f"{name} !" for name in (*TOWNS, *TAGS)]
    rows = [row for index in ("by-town", "by-tag") for row in visible(await world.rows(index, *partitions))]
    return sorted(
        f"{row['PartitionKey']} {json.loads(row['_fact'])['id']} {row.get('note', row.get('total'))}" for row in rows
    )


def _expected(newest: Any) -> list[str]:
    there = [version for version in newest if version.town is not None]
    by_town = [f"{version.town} ! {version.fact} n{version.revision}" for version in there]
    by_tag = [f"{tag} ! {version.fact} {version.total}" for version in there for tag in set(version.tags)]
    return sorted(by_town + by_tag)
