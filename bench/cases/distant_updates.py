"""Workers far away from their tables: scattered updates, and a worker that keeps one partition hot."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from bench.cases.distant_tables import DistantService, carrier_to, new_limiter, tables_of
from bench.cases.facts import CUSTOMERS_YAML, customer, scattered
from bench.cases.pipeline import Pipeline
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.memory.store import Store

if TYPE_CHECKING:
    from bench.cases.distant_tables import Distance, DistantCarrier
    from bench.cases.facts import Fact

PHONE = "+1 425 555 0199"
_HOT_FACTS = 100
_HOT_YAML = """
version: 1
sources: {customers: {cosmos: {database: shop, container: customers}, partitionKey: customerId}}
indexes: {hot: {source: customers, partition: town, sort: lastName, project: [phone]}}
"""


class Updates:
    """Scattered updates by a worker that knows none of the facts. The first `warm` of them teach it the distance."""

    def __init__(self, distance: Distance, count: int, *, calls: int | None = None, warm: int = 0) -> None:
        self.distance = distance
        self.count = count
        self._warm = warm
        self._calls = calls
        self.store = Store()
        self.service = DistantService(distance)
        self.carrier: DistantCarrier
        self.pipeline: Pipeline

    async def prepare(self) -> None:
        """Write the first version at once, and start a worker that is far away."""
        self.store = Store()
        near = Pipeline(CUSTOMERS_YAML, MemoryTables(self.store))
        await near.prepare()
        await near.apply(scattered(self._warm + self.count))
        self.service = DistantService(self.distance)
        self.carrier = carrier_to(self.service, new_limiter(self._calls))
        self.pipeline = Pipeline(CUSTOMERS_YAML, tables_of(self.store, self.carrier))
        await self.pipeline.prepare()
        await self.pipeline.apply(self._changes()[: self._warm])

    def changes(self) -> list[Fact]:
        """The next version of every fact, at the same keys."""
        return self._changes()[self._warm :]

    async def keep_hot(self) -> None:
        """Change facts of an index of its own, all in one partition, again and again, until it is cancelled. It is in
        the same process and account, so it shares the limiter."""
        worker, version = Pipeline(_HOT_YAML, tables_of(Store(), self.carrier)), 0
        with suppress(asyncio.CancelledError):
            await worker.prepare()
            while True:
                await worker.apply(_hot(version))
                version += 1

    def _changes(self) -> list[Fact]:
        return scattered(self._warm + self.count, 1, phone=PHONE)


def _hot(version: int) -> list[Fact]:
    return [customer(number, version, town="hot", phone=f"{version}") for number in range(_HOT_FACTS)]
