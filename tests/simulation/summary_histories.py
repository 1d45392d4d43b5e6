"""Summaries for the simulations: definitions, and histories of few facts or of several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.entries.projection.generations import plan_of
from shared.entries.summaries.rows import LANES
from tests.simulation.programs import Worker, batches_of
from tests.simulation.scenario import Scenario
from tests.simulation.summary_lanes import GroupReader
from tests.worlds.world import Writer, definitions_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import SourcePlan

_SOURCES = """
version: 1
sources:
  people: {cosmos: {database: d, container: people}, partitionKey: id, deletes: {when: gone}}
indexes:
"""
ONE = _SOURCES + "  by-town: {source: people, partition: town, summarize: {people: facts, spent: {sum: spent}}}\n"
# Groups of one partition.
TOGETHER = ONE.replace("partition: town", "partition: group, sort: town")
EXTREMES = ONE.replace("spent: {sum: spent}", "most: {max: spent}")
SEVERAL = (
    _SOURCES
    + """
  by-town:
    source: people
    partition: group
    sort: {path: town, fold: case}
    summarize: {people: facts, spent: {sum: spent}, mean: {average: spent}, least: {min: spent}, most: {max: spent}}
  by-home:
    source: people
    each: {home: homes}
    partition: home
    summarize: {homes: count, spent: {sum: spent}, most: {max: spent}}
    where: "!hidden"
    shards: 2
    placement: {by: list, map: {A: ONE, B: TWO}, default: INDEX_STORAGE}
"""
)

DEFINITIONS = definitions_of(ONE)
PLAN = plan_of(DEFINITIONS, "people")
PLAN_TOGETHER = plan_of(definitions_of(TOGETHER), "people")
PLAN_EXTREMES = plan_of(definitions_of(EXTREMES), "people")
SEVERAL_DEFINITIONS = definitions_of(SEVERAL)
SEVERAL_PLAN = plan_of(SEVERAL_DEFINITIONS, "people")


class Facts:
    """Makes versions of several facts, in the order of a feed."""

    def __init__(self) -> None:
        self._writer = Writer(DEFINITIONS, "people")

    def change(self, spec: str) -> Change:
        """`f A 0.1`: fact f in town A spends 0.1; `f` alone is deleted."""
        fact, *fields = spec.split()
        if not fields:
            return self._writer.change(fact, None)
        town, spent = fields
        return self._writer.change(fact, {"group": "g", "town": town, "spent": float(spent)})


def versions(*specs: str) -> tuple[Change, ...]:
    """One version for each text."""
    facts = Facts()
    return tuple(map(facts.change, specs))


def workers(changes: Iterable[Change], plan: SourcePlan = PLAN) -> tuple[Worker, ...]:
    """One worker for each version."""
    return tuple(Worker(plan, batches_of(change), reads_first=True) for change in changes)


def a_reader_beside_a_return(kind: type[Scenario] = Scenario) -> Scenario:
    """A fact leaves its group and comes back, by a worker that keeps to another lane, while a reader adds them up."""
    changes = versions("f A 1", "g A 1", "f", "f A 1")
    # The second fact is in the last lane, so that the group goes on behind the first one.
    prefix = (Worker(PLAN, batches_of(changes[0])), Worker(PLAN, batches_of(changes[1]), lane=LANES - 1))
    worker = Worker(PLAN, batches_of(*changes[2:]), reads_first=True, lane=1)
    reader = GroupReader(DEFINITIONS, "by-town", {"town": "A"}, "people", most=2)
    return kind("return", PLAN, changes, (reader, worker), prefix, faults=1)


def a_change_that_has_lost(kind: type[Scenario] = Scenario) -> Scenario:
    """The largest value leaves, in a batch with a version of another fact that is not the newest any more."""
    changes = versions("f A 3", "g A 1", "h A 2", "f A 0", "g A 5", "g A 1")
    prefix = (Worker(PLAN_EXTREMES, (changes[:3],)),)
    actors = (Worker(PLAN_EXTREMES, (changes[3:5],), reads_first=True), *workers(changes[5:], PLAN_EXTREMES))
    return kind("lost", PLAN_EXTREMES, changes, actors, prefix, crashes=0, switches=3)
