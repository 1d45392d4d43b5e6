"""The store of the local Event Hubs: sequence numbers, offsets, positions, retention, persistence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from local.emulators.eventhubs.amqp.errors import LinkError
from local.emulators.eventhubs.log import store as store_module
from local.emulators.eventhubs.log.events import NewEvent
from local.emulators.eventhubs.log.hubs import GroupSpec, HubSpec, Partition
from local.emulators.eventhubs.log.positions import StartPosition
from local.emulators.eventhubs.log.retention import Retention
from local.emulators.eventhubs.log.store import EVENT_OVERHEAD_BYTES, FILE_NAME, EventStore
from local.process.errors import LocalRunError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local.emulators.eventhubs.log.store import Column

MESSAGE_BYTES = 68


class Clock:
    """Milliseconds that a test sets."""

    now_ms = 1_000

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[EventStore]:
    store = EventStore(tmp_path, clock)
    store.create([HubSpec("orders", 2)], [])
    yield store
    store.close()


def partition_of(store: EventStore, number: int = 0) -> Partition:
    hub = store.hub("orders")
    assert hub is not None
    return hub.partitions[number]


def append(store: EventStore, count: int, number: int = 0) -> None:
    store.append(partition_of(store, number), [NewEvent(0, b"", bytes(MESSAGE_BYTES))] * count)


def sequences(store: EventStore, first: int = 0) -> list[int]:
    return [event.sequence for event in store.read(partition_of(store), first, 100)]


def test_sequence_numbers_have_no_gaps_and_offsets_count_bytes(store: EventStore) -> None:
    """Each partition counts for itself, over appends."""
    append(store, 2)
    append(store, 1, number=1)
    append(store, 1)
    events = list(store.read(partition_of(store), 0, 100))
    step = MESSAGE_BYTES + EVENT_OVERHEAD_BYTES
    assert [(event.sequence, event.offset) for event in events] == [(0, 0), (1, step), (2, 2 * step)]
    assert partition_of(store, 1).last_sequence == 0


def test_enqueued_time_never_goes_back(store: EventStore, clock: Clock) -> None:
    """A clock that is set back does not disorder a partition."""
    append(store, 1)
    clock.now_ms = 500
    append(store, 1)
    assert [event.enqueued_ms for event in store.read(partition_of(store), 0, 100)] == [1_000, 1_000]


def test_everything_is_there_after_a_restart(tmp_path: Path, clock: Clock) -> None:
    """Hubs, groups, events and tails come back, also when retention has taken every event."""
    first = EventStore(tmp_path, clock)
    first.create([HubSpec("orders", 2)], [GroupSpec(None, "audit")])
    append(first, 3)
    append(first, 2, number=1)
    first.trim(partition_of(first, 1), 2)
    first.close()
    second = EventStore(tmp_path, clock)
    second.create([], [])
    hub = second.hub("ORDERS")
    assert hub is not None
    assert hub.has_group("Audit")
    assert sequences(second) == [0, 1, 2]
    assert (hub.partitions[1].is_empty, hub.partitions[1].next_sequence) == (True, 2)
    second.close()


def test_a_second_server_on_the_folder_is_refused(
    store: EventStore, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two servers would give a sequence number twice."""
    monkeypatch.setattr(store_module, "LOCK_SECONDS", 0.1)
    with pytest.raises(LocalRunError, match="stop the other server"):
        EventStore(tmp_path, clock)
    assert sequences(store) == []


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path, clock: Clock) -> None:
    """A file in its place, or a file that is no database."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(LocalRunError, match="cannot be opened"):
        EventStore(tmp_path / "file", clock)
    (tmp_path / FILE_NAME).write_text("x" * 1000)
    with pytest.raises(LocalRunError, match="cannot be used"):
        EventStore(tmp_path, clock)


def test_the_number_of_partitions_cannot_change(store: EventStore) -> None:
    """Keys would move to other partitions."""
    with pytest.raises(LocalRunError, match="has 2 partitions, not 4"):
        store.create([HubSpec("Orders", 4)], [])


def test_a_group_of_a_hub_that_is_not_there_is_refused(store: EventStore) -> None:
    """The message says how to add the hub."""
    with pytest.raises(LocalRunError, match="--hub nope"):
        store.create([], [GroupSpec("nope", "audit")])


@pytest.mark.parametrize(
    ("column", "value", "inclusive", "expected"),
    [
        ("sequence", "1", False, 2),
        ("sequence", "1", True, 1),
        ("offset", "100", False, 2),
        ("offset", "100", True, 1),
        ("offset", "50", False, 1),
        ("enqueued_ms", "1000", False, 1),
        ("enqueued_ms", "2000", True, 1),
        ("enqueued_ms", "99999", False, 3),
        ("offset", "-1", False, 0),
        ("offset", "@latest", False, 3),
        ("sequence", "3", True, 3),
    ],
)
def test_a_start_position_finds_its_event(
    store: EventStore, clock: Clock, column: Column, value: str, inclusive: bool, expected: int
) -> None:
    """By sequence number, offset or time, inclusive or not, and at both ends."""
    for clock.now_ms in (1_000, 2_000, 3_000):
        append(store, 1)
    assert StartPosition(column, value, inclusive).sequence(store, partition_of(store)) == expected


@pytest.mark.parametrize(("column", "value"), [("sequence", "4"), ("offset", "301")])
def test_a_start_position_beyond_the_end_is_refused(store: EventStore, column: Column, value: str) -> None:
    """It comes from other data, and waiting for it would skip events."""
    append(store, 3)
    with pytest.raises(LinkError, match="Was the checkpoint made with other data"):
        StartPosition(column, value, is_inclusive=False).sequence(store, partition_of(store))


def test_a_start_position_before_retention_begins_at_the_oldest_event(store: EventStore) -> None:
    """A consumer that was away for too long goes on with what is left."""
    append(store, 5)
    store.trim(partition_of(store), 3)
    assert StartPosition("sequence", "0", is_inclusive=False).sequence(store, partition_of(store)) == 3
    assert StartPosition("offset", "-1", is_inclusive=False).sequence(store, partition_of(store)) == 3


async def test_retention_by_age_forgets_the_old(store: EventStore, clock: Clock) -> None:
    """Events older than the limit go; numbers go on."""
    for clock.now_ms in (1_000, 2_000, 3_000):
        append(store, 1)
    await Retention(max_age_ms=1_500, max_partition_bytes=None).apply(store, 4_000)
    assert sequences(store) == [2]
    assert partition_of(store).begin_sequence == 2
    append(store, 1)
    assert sequences(store) == [2, 3]


async def test_retention_by_size_forgets_the_oldest(store: EventStore) -> None:
    """A partition keeps the newest events that fit."""
    append(store, 10)
    await Retention(max_age_ms=None, max_partition_bytes=3 * (MESSAGE_BYTES + EVENT_OVERHEAD_BYTES)).apply(store, 2_000)
    assert sequences(store) == [7, 8, 9]


async def test_retention_without_limits_keeps_everything(store: EventStore) -> None:
    """None is without end."""
    append(store, 3)
    await Retention(None, None).apply(store, 1 << 50)
    assert sequences(store) == [0, 1, 2]


@pytest.mark.parametrize("text", ["", "orders", "a b:1", "orders:0", "orders:x", "orders:2000", "-a:1", "orders:-1"])
def test_a_wrong_hub_is_named(text: str) -> None:
    """The message shows how to write it."""
    with pytest.raises(LocalRunError, match=r"hub name|write 1 to"):
        HubSpec.parse(text)


def test_hubs_and_groups_are_read_from_arguments() -> None:
    """NAME:PARTITIONS, GROUP and HUB/GROUP."""
    assert HubSpec.parse("orders:4") == HubSpec("orders", 4)
    assert GroupSpec.parse("audit") == GroupSpec(None, "audit")
    assert GroupSpec.parse("Orders/audit").belongs_to("orders")
    with pytest.raises(LocalRunError, match="consumer group"):
        GroupSpec.parse("x/")
