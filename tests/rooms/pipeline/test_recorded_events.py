"""Events of systems that people have give the entries that they should, in whatever order and how often they come."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.worlds.hubs import RECORDINGS, HubWorld, definitions_for, expected_of, recorded

if TYPE_CHECKING:
    from shared.entries.changes.received_event import ReceivedEvent

# Their own clocks order their events. Those of Azure Event Grid and Kafka Connect declare a version.
ALL = st.sampled_from(RECORDINGS)


@pytest.mark.parametrize("recording", RECORDINGS)
async def test_a_recording_gives_its_entries(recording: str) -> None:
    """And no dead letter; a tombstone or a foreign event is ignored."""
    world = await HubWorld(definitions_for(recording)).started()
    events = recorded(recording)
    await world.deliver(events)
    assert await world.entries() == expected_of(recording)
    assert await world.dead_letters() == []
    foreign = {"kafka-connect": 0, "mysql-one-hub": 5}.get(recording, 1)
    assert world.counted("orders", "ignored") == foreign
    assert world.counted("orders", "received") == len(events) - foreign


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[str, list[list[ReceivedEvent]]]:
    """A recording, and batches in which each of its events comes at least once, over any partition and so at any time
    and number."""
    recording = draw(ALL)
    events = recorded(recording)
    again = draw(st.lists(st.sampled_from(events), max_size=6))
    shuffled = draw(st.permutations(events + again))
    arrived = [event._replace(sequence_number=draw(st.integers(0, 9))) for event in shuffled]
    batches = []
    while arrived:
        size = draw(st.integers(1, len(arrived)))
        batches.append(arrived[:size])
        arrived = arrived[size:]
    return recording, batches


@given(deliveries())
@settings(max_examples=150)
def test_shuffled_and_repeated_deliveries_converge(delivered: tuple[str, list[list[ReceivedEvent]]]) -> None:
    """Also after every batch a new worker goes on that knows nothing."""
    recording, batches = delivered
    assert asyncio.run(_entries_after(recording, batches)) == expected_of(recording)


async def _entries_after(recording: str, batches: list[list[ReceivedEvent]]) -> list[tuple[object, ...]]:
    world = HubWorld(definitions_for(recording))
    for batch in batches:
        await (await world.started()).deliver(batch)
    assert await world.dead_letters() == []
    return await world.entries()


async def test_a_change_beats_the_snapshot_that_looks_younger() -> None:
    """MySQL times its log in seconds and a snapshot in milliseconds; the place in the log knows better."""
    snapshot, *_, last = [event for event in recorded("mysql") if json.loads(event.key or "") == {"id": 1001}]
    assert json.loads(snapshot.body)["source"]["ts_ms"] > json.loads(last.body)["source"]["ts_ms"]
    world = await HubWorld(definitions_for("mysql")).started()
    await world.deliver([last])
    await world.deliver([snapshot])
    assert await world.entries() == [("Bergen", "1001", 45)]
