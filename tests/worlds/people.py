"""People whose indexes are verified, in every layout that an index may have, and what a verification says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from shared.entries.keys.versions import ticks_clock, version
from tests.worlds.verifying import VerifiedWorld

if TYPE_CHECKING:
    from shared.tables.port import Tables
    from shared.verification.report import DifferenceReport

TEXT = """
version: 1
sources:
  SOURCE: {cosmos: {database: d, container: people}, partitionKey: id, deletes: {when: gone}}
indexes:
  by-town: {source: SOURCE, partition: town, sort: name, project: [phone]}
  by-town-and-age:
    source: SOURCE
    partition: [town, {path: team, nulls: index}]
    sort: [{path: age, type: integer, order: desc}, name]
    project: all
  by-home: {source: SOURCE, each: {home: homes}, partition: home, project: keys, where: "!hidden"}
  sharded: {source: SOURCE, partition: town, sort: {path: name, order: desc}, project: keys, shards: 7, hot: {A: 3}}
  placed:
    source: SOURCE
    partition: town
    project: [phone]
    placement: {by: hash, accounts: [INDEX_STORAGE, INDEX_2]}
  expiring: {source: SOURCE, partition: town, project: [phone], expire: {path: until, after: 1h}}
  by-month: {source: SOURCE, partition: town, project: [phone], expire: {path: seen, after: 60d, tables: month}}
  by-text: {source: SOURCE, partition: text, sort: {path: text, name: again}, project: [phone]}
"""
INDEXES = ["by-town", "by-town-and-age", "by-home", "sharded", "placed", "expiring", "by-month", "by-text"]

# Sixty days later it is February, March and this January; those of other towns never expire.
SEEN = {"A": "2026-12-20T00:00:00Z", "B": "2027-01-10T00:00:00Z", "C": "2026-11-20T00:00:00Z"}


def person(name: str, town: str = "A", **fields: Any) -> dict[str, Any]:
    """A fact that has an entry in every index, and two in `by-home`; its text is longer than a key may be."""
    long = {"text": f"{town}{'x' * 600}", "homes": [town, "Z"], "age": 7, "seen": SEEN.get(town)}
    return {"town": town, "name": name, "phone": "1", **long, **fields}


async def some_people(service: Tables) -> VerifiedWorld:
    """Four people in two towns, one of whom has moved, and one who is nowhere."""
    source = f"p{uuid4().hex[:12]}"
    world = VerifiedWorld(service, TEXT.replace("SOURCE", source), source)
    await world.create_tables()
    await world.write("f", person("f", "B"))
    for fact, town in (("f", "A"), ("g", "A"), ("h", "B"), ("/" * 200, "A")):
        await world.write(fact, person("n", town))
    await world.write("n", {"name": "nobody"})
    return world


def found(report: DifferenceReport) -> dict[str, int]:
    """The differences by kind, without the zeros."""
    return {kind: count for kind, count in report.plain()["differences"].items() if count}


async def repaired(world: VerifiedWorld, index: str = "by-town", **asked: bool) -> dict[str, int]:
    """The differences that a repair saw; after it there are none, and what was written is swept."""
    report = await world.verify(index, **asked or {"repairs": True})
    assert report.counts["unrepaired"] == 0
    await world.sweep()
    after = await world.verify(index)
    assert found(after) == {}
    assert after.counts["tombstones"] == after.counts["masked"] == 0
    return found(report)


def at(number: int) -> str:
    """A version that no change has; 6 writes have been made."""
    return version(str(ticks_clock(1_700_000_000 + number, number)), "0badc0de", is_delete=False)
