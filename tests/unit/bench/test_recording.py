"""The raw yardstick writes what the pipeline writes: the same rows, in as few transactions as possible."""

from __future__ import annotations

from functools import partial

import pytest

from bench.cases.facts import MOVIES_YAML, SUMMARY_YAML, customers, mixed, movies, steadily_changed
from bench.cases.pipeline import Pipeline
from bench.cases.recording import recorded
from bench.cases.rivals import Scenario
from shared.tables.memory.memory_tables import MemoryTables

SCENARIOS = (
    Scenario("bulk", customers),
    Scenario("steady", steadily_changed, before=customers),
    Scenario("moves", partial(customers, version=1, town="moved"), before=customers),
    Scenario("deletes", partial(customers, version=1, isDeleted=True), before=customers),
    Scenario("multi-valued", partial(movies, version=1), before=movies, yaml=MOVIES_YAML),
    Scenario("summary", partial(customers, version=1, spend=99.5), before=customers, yaml=SUMMARY_YAML),
    Scenario("mixed", mixed, before=customers, batch=7),
)
COUNT = 40


def contents(tables: MemoryTables, names: set[str]) -> dict[tuple[str, str, str], object]:
    """Every row that is there, without how often it was written."""
    return {
        (name, partition, key): stored.body
        for name in names
        for partition in tables.store.partition_keys(name)
        for key, stored in tables.store.partition(name, partition).items()
        if stored.body is not None
    }


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
async def test_the_raw_loop_leaves_the_rows_that_the_pipeline_leaves(scenario: Scenario) -> None:
    """Row for row, in no more transactions."""
    ours = MemoryTables()
    pipeline = Pipeline(scenario.yaml, ours)
    await pipeline.prepare()
    await pipeline.apply(scenario.before(COUNT))
    sent = ours.counts.total()
    await pipeline.apply(scenario.changes(COUNT), scenario.batch)
    sent = ours.counts.total() - sent

    before, changes = await recorded(scenario.yaml, scenario.before(COUNT), scenario.changes(COUNT), scenario.batch)
    raw = MemoryTables()
    names = {table for table, _ in before + changes}
    for name in names:
        await raw.create_table(name)
    for transaction in before + changes:
        await raw.transact(*transaction)
    assert contents(raw, names) == contents(ours, names)
    assert len(changes) <= sent


def test_facts_are_the_same_in_every_run() -> None:
    """Nothing about them is left to chance."""
    assert customers(3) == customers(3)
    assert [fact["id"] for fact in mixed(10)].count("c-000010") == 1
