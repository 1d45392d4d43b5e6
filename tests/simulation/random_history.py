"""Random histories of a few facts for larger simulations, in the order of a change feed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shared.entries.projection.generations import plan_of
from tests.worlds.world import Writer, definitions_of

if TYPE_CHECKING:
    from random import Random

    from shared.entries.changes.change import Change

TEXT = """
version: 1
sources:
  people: {cosmos: {database: d, container: people}, partitionKey: id, deletes: {when: gone}}
indexes:
  by-town: {source: people, partition: town, sort: name, project: [phone]}
  by-home:
    source: people
    each: {home: homes}
    partition: home
    sort: rank
    project: [phone]
    where: "!hidden"
    shards: 2
    placement: {by: list, map: {A: ONE, B: TWO}, default: INDEX_STORAGE}
  by-day:
    source: people
    partition: group
    sort: name
    project: [phone]
    expire: {path: until, after: 1d, tables: day}
    placement: {by: list, map: {g: ONE}, default: INDEX_STORAGE}
  by-rank:
    source: people
    partition: group
    sort: [{path: rank, type: integer, order: desc}]
    project: all
    expire: {path: until, after: 1d}
"""
DEFINITIONS = definitions_of(TEXT)
PLAN = plan_of(DEFINITIONS, "people")
FACTS_MAX = 6
CHANGES_MAX = 20
STEADY = "s"


def random_feed(random: Random) -> tuple[Change, ...]:
    """Versions of up to six facts, one of which only ever changes in place."""
    writer = Writer(DEFINITIONS, "people")
    facts = ["f", "g", "h", "i", "j"][: random.randint(1, FACTS_MAX - 1)]
    changes = [writer.change(STEADY, _steady(random))]
    for _ in range(random.randint(2, CHANGES_MAX - 1)):
        fact = random.choice([*facts, STEADY])
        changes.append(writer.change(fact, _steady(random) if fact == STEADY else _document(random)))
    return tuple(changes)


def _steady(random: Random) -> dict[str, Any]:
    return {"town": "S", "name": "s", "phone": random.choice("xyz"), "group": "g", "rank": 5}


def _document(random: Random) -> dict[str, Any] | None:
    """A few values each, so that keys stay, change, come back and collide; now and then poison or deleted."""
    if random.random() < 0.15:
        return None
    return {
        "town": random.choice(["A", "B", "S", None]),
        "name": random.choice("mn"),
        "phone": random.choice("xy"),
        "homes": random.sample(["A", "B", "C"], random.randint(0, 3)),
        "hidden": random.random() < 0.2,
        "group": random.choice(["g", "k"]),
        "until": random.choice([None, "2020-01-01", "2020-01-02", "2027-01-15", "2035-01-01"]),
        # What is no number cannot be in `by-rank`.
        "rank": random.choice([1, 2, 3, "poison"]) if random.random() < 0.5 else 1,
    }
