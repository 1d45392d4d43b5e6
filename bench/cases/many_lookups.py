"""Lookups of many keys behind a service that takes a while for each call: what waits once, and what waits each time.

Azurite answers one request after the other, which a service does not: here calls overlap, and each takes as long as
one takes within a region.
"""

from __future__ import annotations

import json
from typing import Final

from bench.cases.facts import customer
from bench.cases.pipeline import Pipeline
from bench.cases.slow_tables import Slow
from bench.measure.case import Case
from shared.definitions.loading.load import load
from shared.entries.changes.step_budget import StepBudget
from shared.entries.rows.columns import StoredEntry
from shared.inputs.page_tokens import PageTokens
from shared.lookup.asking.filters import compile_filter
from shared.lookup.batch import answer_batch, page_of
from shared.lookup.count import count_entries
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.tables.memory.memory_tables import MemoryTables
from shared.web.answers import json_answer

KEYS: Final = 100
PARTITIONS: Final = 50
ROWS: Final = 1000
# As the Table service takes within a region, its network included.
SERVICE_SECONDS: Final = 0.02
FILTER: Final = "data.phone && key.lastName >= 'name' && data.email != 'nobody'"


async def filled(yaml: str) -> Lookups:
    """Lookups behind such a service, over customers each of whom has a town."""
    slow = Slow(SERVICE_SECONDS)
    tables = MemoryTables(carrier=slow)
    pipeline = Pipeline(yaml, tables)
    await pipeline.prepare()
    await pipeline.apply([customer(number, town=f"own {number}") for number in range(KEYS)])
    slow.is_on = True
    return Lookups(DefinedGenerations(load(yaml).require()), Replicas(tables), PageTokens(b"key"))


async def crowded(yaml: str, count: int) -> tuple[Lookups, MemoryTables]:
    """Lookups over customers who all have one town, and the service behind them."""
    tables = MemoryTables()
    pipeline = Pipeline(yaml, tables)
    await pipeline.prepare()
    await pipeline.apply([customer(number, town="one") for number in range(count)])
    return Lookups(DefinedGenerations(load(yaml).require()), Replicas(tables), PageTokens(b"key")), tables


def counting(lookups: Lookups, tables: MemoryTables, count: int) -> Case:
    """How many they are."""

    async def run() -> dict[str, int]:
        sent = tables.counts.total()
        found = await count_entries(lookups, "by-town", {"town": "one"})
        return {"rows": found.count, "transactions": tables.counts.total() - sent}

    return Case("count", count, run)


def one(lookups: Lookups, count: int) -> Case:
    """A lookup of one key."""

    async def run() -> dict[str, int]:
        rows = 0
        for number in range(count):
            page = await lookups.find("by-town", {"town": f"own {number % KEYS}"})
            json_answer({"value": page.entries})
            rows += len(page.entries)
        return {"rows": rows}

    return Case("one", count, run)


def in_one_call(lookups: Lookups, count: int) -> Case:
    """A hundred lookups in one call."""

    async def run() -> dict[str, int]:
        rows = 0
        for _ in range(count):
            asked = [{"town": f"own {number}"} for number in range(KEYS)]
            pages = [page_of(each) for each in await answer_batch(lookups, "by-town", asked, {})]
            json_answer({"value": [{"value": page.entries} for page in pages]})
            rows += sum(len(page.entries) for page in pages)
        return {"rows": rows}

    return Case(f"{KEYS} in one call", count, run)


def merged(lookups: Lookups, count: int) -> Case:
    """One lookup of fifty partitions."""
    towns = json.dumps([f"own {number}" for number in range(PARTITIONS)])

    async def run() -> dict[str, int]:
        rows = 0
        for _ in range(count):
            page = await lookups.find("by-town", {"town.in": towns})
            json_answer({"value": page.entries})
            rows += len(page.entries)
        return {"rows": rows}

    return Case(f"{PARTITIONS} partitions", count, run)


def filtering(count: int) -> Case:
    """A filter on a thousand entries."""
    entry = StoredEntry(
        "1", ("c",), {"town": "t", "lastName": "name 1"}, {"phone": "555-0001", "email": "a@example.com"}, False
    )

    def run() -> dict[str, int]:
        held = 0
        for _ in range(count):
            holds = compile_filter(FILTER, StepBudget())
            held += sum(holds(entry) for _ in range(ROWS))
        return {"rows": held}

    return Case("filter", count * ROWS, run)
