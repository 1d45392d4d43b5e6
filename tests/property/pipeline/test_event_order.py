"""Events with declared versions converge, in whatever order, how often and to whichever worker they are delivered."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shared.entries.changes.event_changes import EventReader
from shared.entries.changes.received_event import ReceivedEvent
from shared.pipeline.apply.intake import read_all
from shared.tables.memory.memory_tables import MemoryTables
from tests.worlds.world import World, no_turn, visible

DEFINITIONS = """
version: 1
sources: {orders: {eventHub: orders, partitionKey: customer, version: revision}}
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
    is_cloud_event: bool

    @property
    def document(self) -> dict[str, Any]:
        """What the fact is as of this version."""
        fields = {"town": self.town, "total": self.total, "tags": list(self.tags), "note": f"n{self.revision}"}
        return {"id": self.fact, "customer": "c", "revision": self.revision, **fields}

    @property
    def body(self) -> bytes:
        """The event, in one of its two forms."""
        if self.is_cloud_event:
            kind = "deleted" if self.town is None else "upserted"
            names = {"subject": self.fact, "partitionkey": "c", "version": self.revision}
            event = {"specversion": "1.0", "type": f"order.{kind}", **names}
            return json.dumps(event if self.town is None else {**event, "data": self.document}).encode()
        event = {"op": "upsert", "id": self.fact, "partitionKey": "c", "version": self.revision}
        if self.town is None:
            return json.dumps({**event, "op": "delete"}).encode()
        return json.dumps({**event, "document": self.document}).encode()


@st.composite
def histories(draw: st.DrawFn) -> list[Version]:
    """Some versions of each fact, numbered upwards."""
    one = st.tuples(
        st.sampled_from([*TOWNS, None]), st.integers(0, 3), st.lists(st.sampled_from(TAGS), max_size=3), st.booleans()
    )
    return [
        Version(fact, revision, town, total, tuple(tags), is_cloud)
        for fact in FACTS
        for revision, (town, total, tags, is_cloud) in enumerate(draw(st.lists(one, min_size=1, max_size=5)), 1)
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


@given(deliveries())
def test_the_newest_version_of_each_fact_is_what_is_found(
    delivered: tuple[list[Version], list[tuple[bool, list[Version]]]],
) -> None:
    """By brute force from the newest version, whatever came late or twice."""
    history, batches = delivered
    newest = {version.fact: version for version in history}
    assert asyncio.run(_found_after(batches)) == _expected(newest.values())


async def _found_after(batches: list[tuple[bool, list[Version]]]) -> list[str]:
    world = World(MemoryTables(), DEFINITIONS, "orders")
    await world.create_tables()
    reader = EventReader(world.definitions.sources["orders"])
    number = 0
    for is_restarted, batch in batches:
        if is_restarted:
            world.restart()
        events = [
            ReceivedEvent(version.body, datetime(2026, 1, 1, tzinfo=UTC), number + i) for i, version in enumerate(batch)
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
