"""A build as the workload runs it: facts that were applied under one definition, and the generation of another."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, NoReturn

from bench.cases.pipeline import BATCH, Pipeline
from shared.app.world import TIMING
from shared.lifecycle.build import Builds, BuildSources
from shared.lifecycle.generations import GenerationLifecycle, LifecycleTimes
from shared.sources.cosmos_feed import FeedPage
from shared.tasks.runner import TaskRunner, idle, task_failed_error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from bench.cases.facts import Fact
    from shared.definitions.model import Source
    from shared.tables.port import Tables
    from shared.tasks.rows import Progress

OLD_YAML = """
version: 1
sources: {customers: {cosmos: {database: shop, container: customers}, partitionKey: customerId}}
indexes:
  by-town: {source: customers, partition: town, sort: [lastName, firstName], project: [phone]}
"""
NEW_YAML = OLD_YAML.replace("project: [phone]", "project: [phone, email]")


class Documents:
    """A container's feed that costs nothing: what is measured is the build."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._facts = facts

    async def ranges(self, source: Source) -> list[str]:
        """One."""
        return ["all"]

    async def pages(
        self, source: Source, feed_range: str, continuation: str | None = None, page_items: int = 1000
    ) -> AsyncIterator[FeedPage]:
        """A thousand facts at a time."""
        for start in range(int(continuation or 0), len(self._facts), BATCH):
            yield FeedPage(list(self._facts[start : start + BATCH]), str(start + BATCH))


class Nowhere:
    """Facts that are not there, and a hub that is none: the build is to need neither."""

    async def read(self, *_arguments: object) -> NoReturn:
        """Nobody asks."""
        raise AssertionError("the rest of the build asked for a fact")

    async def partitions(self, *_arguments: object) -> NoReturn:
        """Nobody asks."""
        raise AssertionError("the build asked for a hub")

    def pages(self, *_arguments: Any) -> NoReturn:
        """Nobody asks."""
        raise AssertionError("the build asked for a hub")


class Building:
    """One build on any Table service."""

    def __init__(self, tables: Tables, facts: Sequence[Fact]) -> None:
        self._tables = tables
        self._facts = facts
        self._task = ""

    async def prepare(self) -> None:
        """Apply the facts under the old definition, enter the new one, ask for its build."""
        old = Pipeline(OLD_YAML, self._tables)
        await old.prepare()
        await old.apply(self._facts)
        new = Pipeline(NEW_YAML, self._tables, build_delay_seconds=0)
        await new.prepare()
        sources = BuildSources(Documents(self._facts), Nowhere(), Nowhere())
        builds = Builds(new.parts.catalog, new.parts.services, sources, TIMING.steady_seconds, TIMING.sleep)
        self._runner = TaskRunner(new.parts.task_rows, None, {"build": builds}, time.time)
        lifecycle = GenerationLifecycle(
            new.definitions, new.parts.catalog, self._runner, LifecycleTimes(time.time, 0, 0, 0)
        )
        self._task = (await lifecycle.build("by-town")).task.id

    async def run(self) -> Progress:
        """Work on it until it has ended."""
        while True:
            progress = await self._runner.rows.read(self._task)
            assert progress is not None
            if progress.task.state == "done":
                return progress
            if progress.task.state == "failed":
                raise task_failed_error(progress.task)
            # As the app does, which has a message for each.
            await asyncio.gather(*[self._runner.work(self._task, name) for name in idle(progress, time.time())])
