"""A worker that dies at any storage call of a batch: when the batch comes again, everything is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pytest

from shared.errors import IncompleteBatchError, StorageUnavailableError
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.memory.store import Store
from tests.simulation.random_runs.indexes import INDEXES, text_of
from tests.simulation.truth import difference
from tests.worlds.world import World

if TYPE_CHECKING:
    from shared.entries.changes.change import Change
    from shared.tables.memory.calls import Call

T = TypeVar("T")

ON_ONE_ACCOUNT = "\n".join(line for line in text_of(INDEXES.values()).splitlines() if "placement:" not in line)


class Fused:
    """Performs so many calls; the next one is performed or not, and every one after it fails."""

    def __init__(self, calls: int, *, performs_last: bool) -> None:
        self._left = calls
        self._performs_last = performs_last
        self.is_burnt = False

    async def carry(self, call: Call[T], store: Store) -> T:
        self._left -= 1
        if self._left > 0:
            return call.perform(store)
        if self._left == 0 and self._performs_last:
            call.perform(store)
        self.is_burnt = True
        raise StorageUnavailableError("The worker is dead: redeliver.", outcome_unknown=True)


def world_on(store: Store, fuse: Fused | None = None) -> World:
    """A worker process on this service."""
    return World(MemoryTables(store, fuse), ON_ONE_ACCOUNT)


def batches(world: World) -> tuple[list[Change], list[Change]]:
    """What is there before, and a batch with an insert, updates, moves, a delete and a poison document."""
    change = world.writer.change
    person = {"town": "A", "name": "n", "homes": ["x", "y"], "group": "g", "rank": 1}
    before = [change(fact, person) for fact in "abcde"]
    batch = [
        change("a", {**person, "town": "B", "homes": ["y", "z"]}),
        change("b", None),
        change("c", {**person, "phone": "1"}),
        change("d", {**person, "rank": "poison"}),
        change("e", person),
        change("f", person),
    ]
    return before, batch


@pytest.mark.parametrize("performs_last", [True, False], ids=["answer lost", "never sent"])
async def test_a_crash_at_any_call_is_healed_by_redelivery(*, performs_last: bool) -> None:
    """At the first call, the second, and so on to the last: the batch is not acknowledged, and its redelivery heals."""
    calls = 0
    while True:
        calls += 1
        store = Store()
        first = world_on(store)
        await first.create_tables()
        before, batch = batches(first)
        await first.apply(*before)
        fuse = Fused(calls, performs_last=performs_last)
        dying = world_on(store, fuse)
        try:
            await dying.apply(*batch)
        except IncompleteBatchError:
            assert fuse.is_burnt
        if not fuse.is_burnt:
            break
        again = world_on(store)
        await again.apply(*batch)
        again.queue.messages += first.queue.messages + dying.queue.messages
        await again.sweep()
        for generation in again.plan.generations:
            assert difference(generation, (*before, *batch), store) is None
    assert calls > 15
