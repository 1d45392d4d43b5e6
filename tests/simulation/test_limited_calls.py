"""Workers, a build and readers of one process behind one limiter: no call waits for another one for ever, no more are
out than it allows, and the index comes out right."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

import pytest

from shared.errors import IncompleteBatchError
from shared.pipeline.concurrency import AtOnce
from shared.tables.limiter.calls import Priority
from shared.tables.limiter.gate import EXTRA_CALLERS
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import RowRange
from tests.simulation.limited import LimitedAccount
from tests.simulation.truth import difference
from tests.worlds.world import World

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.entries.changes.change import Change
    from shared.tables.memory.store import Store

FACTS = [f"f{number}" for number in range(12)]
TOWNS = ["A", "B", "C", None]


class Run:
    """One process with few permits: two workers of the feed, one beside it, and a reader."""

    def __init__(self, seed: int, most: int) -> None:
        self.random = Random(seed)
        self.account = LimitedAccount(self.random, most)
        self.near = World(MemoryTables())
        self.store: Store = self.near.tables.store  # type: ignore[attr-defined]  # it is in memory
        self.changes = [self._change() for _ in range(60)]

    def _change(self) -> Change:
        fact, town = self.random.choice(FACTS), self.random.choice(TOWNS)
        return self.near.writer.change(fact, None if town is None else {"town": town, "name": fact})

    async def play(self) -> None:
        """Everybody at once."""
        await self.near.create_tables()
        feed = [self._work(Priority.FEED, self.changes[half::2]) for half in range(2)]
        beside = self._work(Priority.BACKGROUND, self.random.choices(self.changes, k=30))
        await self.account.time.run(*feed, beside, self._read())

    async def _work(self, priority: Priority, changes: Sequence[Change]) -> None:
        """In batches; each comes again until it is applied."""
        world = World(MemoryTables(self.store, self.account.client(priority)))
        # Only the time of the account passes: no turn depends on this machine's.
        world.restart(AtOnce())
        while changes:
            size = self.random.randint(1, 20)
            batch, changes = changes[:size], changes[size:]
            for _ in range(20):
                with suppress(IncompleteBatchError):
                    await world.apply(*batch)
                    break
            else:
                raise AssertionError("a batch fails again and again")

    async def _read(self) -> None:
        tables = MemoryTables(self.store, self.account.client(Priority.CALLER))
        (generation,) = self.near.plan.generations
        for _ in range(20):
            await tables.query(generation.table, RowRange("A !"))


@pytest.mark.parametrize("most", [1, 2, 3])
async def test_random_schedules_under_a_limiter(most: int) -> None:
    refused = lost = 0
    for seed in range(5):
        run = Run(seed, most)
        await run.play()
        (generation,) = run.near.plan.generations
        assert difference(generation, run.changes, run.store) is None, f"seed {seed}"
        # A probe of the breaker needs no permit.
        assert run.account.in_flight_max <= most + EXTRA_CALLERS + 1
        assert run.account.gate.limiter.in_flight == 0
        refused, lost = refused + run.account.refused, lost + run.account.lost
    assert refused
    assert lost
