"""A build needs no more memory for many facts than for some."""

from __future__ import annotations

import asyncio
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from shared.catalog.catalog import Catalog
from shared.lifecycle.build import Builds, BuildSources
from shared.sources.cosmos_feed import FeedPage
from shared.tables.memory.memory_tables import MemoryTables
from shared.tasks.rows import Progress, Task
from shared.tasks.runner import TaskRunner
from tests.worlds.building import CHANGED, BuildingWorld, KeptEvents
from tests.worlds.kept_facts import KeptFacts
from tests.worlds.world import TOWNS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from shared.definitions.model import Source
    from shared.tables.port import Operation

PAGE = 1000


class Manifold:
    """A feed of so many facts, each made when its page is read."""

    def __init__(self, facts: int) -> None:
        self._facts = facts

    async def ranges(self, source: Source) -> list[str]:
        """One."""
        return ["all"]

    async def pages(
        self, source: Source, feed_range: str, continuation: str | None = None, page_items: int = 1000
    ) -> AsyncIterator[FeedPage]:
        """Pages of a thousand."""
        for start in range(int(continuation or 0), self._facts, PAGE):
            documents = [
                {
                    "id": f"{n:06}",
                    "town": f"t{n % 8}",
                    "name": "n",
                    "email": "e" * 100,
                    "_ts": 1,
                    "_lsn": n,
                    "_etag": "x",
                }
                for n in range(start, start + PAGE)
            ]
            yield FeedPage(documents, str(start + PAGE))


class Forgetful(MemoryTables):
    """A service whose memory is not ours to count: ledger and index rows are gone as soon as they are written."""

    async def transact(self, table: str, operations: Sequence[Operation]) -> tuple[str | None, ...]:
        """Catalog and tasks stay."""
        if table in ("Catalog", "Tasks"):
            return await super().transact(table, operations)
        return tuple("etag" for _ in operations)


async def peak_bytes(facts: int) -> int:
    """The most that a build of so many facts had in use at once."""
    tables = Forgetful()
    world = BuildingWorld(tables)
    await world.worker(TOWNS)
    await world.worker(CHANGED)
    building = (await world.generations())["building"]
    services = world.services()
    sources = BuildSources(Manifold(facts), KeptFacts(tables), KeptEvents())
    builds = Builds(Catalog(tables), services, sources, lambda: 0.0, asyncio.sleep, window=2000)
    runner = TaskRunner(world.rows, None, {"build": builds}, lambda: world.seconds)
    await runner.start(Task("build-x-1", "build", {"generation": building, "budget": None}, world.seconds))
    tracemalloc.start()
    progress: Progress = await world.run(runner, "build-x-1")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert progress.counts["entries"] == facts
    return peak


@pytest.mark.long
async def test_memory_is_flat() -> None:
    """Four times the facts, the same memory: what was applied is let go of."""
    few, many = await peak_bytes(6_000), await peak_bytes(24_000)
    assert many < few * 1.2, f"{few:,} bytes, then {many:,}"
