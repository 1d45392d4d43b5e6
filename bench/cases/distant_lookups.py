"""Lookups in tables that are far away."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from bench.cases.distant_tables import tables_of
from bench.cases.facts import customer
from bench.cases.pipeline import Pipeline
from shared.definitions.loading.load import load
from shared.inputs.page_tokens import PageTokens
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.tables.limiter.calls import Priority
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.memory.store import Store

if TYPE_CHECKING:
    from bench.cases.distant_tables import DistantCarrier
    from shared.definitions.model import Source
    from shared.entries.keys.fact_key import FactKeyValue
    from shared.tables.port import Tables

LOOKUP_YAML: Final = """
version: 1
sources: {customers: {cosmos: {database: shop, container: customers}, partitionKey: customerId}}
indexes:
  by-town: {source: customers, partition: town, sort: [lastName, firstName], project: [phone, email]}
  by-town-sharded: {source: customers, partition: town, sort: lastName, project: [phone, email], shards: 16}
"""
_FACTS: Final = 160


class DistantFacts:
    """Facts of Cosmos DB, as far away as the tables."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def read(
        self, source: Source, fact_id: str, partition_key: tuple[FactKeyValue, ...]
    ) -> dict[str, Any] | None:
        """The fact, after one call's time."""
        await asyncio.sleep(self._seconds)
        return {"id": fact_id}


async def store_to_look_up() -> Store:
    """Forty customers in each of four towns."""
    store = Store()
    pipeline = Pipeline(LOOKUP_YAML, MemoryTables(store))
    await pipeline.prepare()
    facts = [customer(n, town=f"town {n % 4}", lastName=f"name {n:04}") for n in range(_FACTS)]
    await pipeline.apply(facts)
    return store


def lookups_by(store: Store, carrier: DistantCarrier, yaml: str = LOOKUP_YAML) -> Lookups:
    """Lookups through a client of a distant service."""
    seconds = carrier.service.distance.median_seconds
    return lookups_in(tables_of(store, carrier, Priority.CALLER), yaml, seconds)


def lookups_in(tables: Tables, yaml: str, seconds: float) -> Lookups:
    """Lookups in these tables; facts are so far away."""
    generations = DefinedGenerations(load(yaml).require())
    return Lookups(generations, Replicas(tables), PageTokens(b"key"), facts=DistantFacts(seconds))
