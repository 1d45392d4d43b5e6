"""Facts of several sources that change all the time, and what the indexes must say of them, by brute force.

Nothing here uses the product: what an index has is worked out anew, in plain Python, from what the facts are now.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from random import Random

    Fact: TypeAlias = dict[str, Any]

# Few places, as batches to a few partitions are cheap, and the emulator is slow.
TOWNS, TAGS, HOMES = 5, 8, 9
HIGH = 50
SUMMARY = "-spent"
NO_RANK = "not a number"


@dataclass(frozen=True)
class Kind:
    """A source: how its facts arrive and how they are deleted."""

    source: str
    container: bool = False
    hub: bool = False
    has_version: bool = False
    deletes_hard: bool = False
    has_home: bool = True

    def definition(self, database: str) -> str:
        """Its lines in the definitions."""
        parts = [
            f"cosmos: {{database: {database}, container: {self.source}}}" if self.container else "",
            f"eventHub: {self.source}" if self.hub else "",
            "partitionKey: home" if self.has_home else "",
            "version: revision" if self.has_version else "",
            "deletes: {feed: allVersions}" if self.deletes_hard else "deletes: {when: gone}" if self.container else "",
        ]
        return f"  {self.source}: {{{', '.join(filter(None, parts))}}}\n"

    @property
    def indexes(self) -> str:
        """Four: sorted downwards, one entry per tag, filtered with everything in it, a summary."""
        return (
            f"  {self.source}-by-town: {{source: {self.source}, partition: town, "
            "sort: [{path: rank, type: integer, order: desc}], project: [note]}\n"
            f"  {self.source}-by-tag: {{source: {self.source}, each: {{tag: tags}}, partition: tag, sort: town, "
            "project: [rank]}\n"
            f'  {self.source}-high: {{source: {self.source}, partition: town, where: "rank >= `{HIGH}`", '
            "project: all}\n"
            f"  {self.source}-spent: {{source: {self.source}, partition: town, "
            "summarize: {facts: facts, spent: {sum: price}}, shards: 2}\n"
        )


PEOPLE = Kind("people", container=True)
FILMS = Kind("films", container=True, deletes_hard=True)
CARTS = Kind("carts", container=True, hub=True, has_version=True)
ORDERS = Kind("orders", hub=True, has_version=True)
VISITS = Kind("visits", hub=True, has_home=False)


def definitions(kinds: tuple[Kind, ...], database: str) -> str:
    """The definitions of these sources."""
    sources = "".join(kind.definition(database) for kind in kinds)
    return f"version: 1\nsources:\n{sources}indexes:\n{''.join(kind.indexes for kind in kinds)}"


@dataclass
class World:
    """What all facts are now; None for one that was deleted."""

    random: Random
    facts: dict[tuple[Kind, int], Fact | None] = field(default_factory=dict)
    revisions: Counter[tuple[Kind, int]] = field(default_factory=Counter)

    def insert(self, kind: Kind, number: int) -> Fact:
        """A fact that was not there. Ids are unique only within a home, if there are homes."""
        return self._keep(kind, number, {**self.identity(kind, number), **self._fields()})

    def change(self) -> tuple[Kind, int, Fact | None]:
        """Something happens to one fact: an update, a delete or its return."""
        kind, number = self.random.choice(list(self.facts))
        fact = self.facts[kind, number]
        if fact is None:
            return kind, number, self.insert(kind, number)
        if self.random.random() < 0.12:
            self.revisions[kind, number] += 1
            self.facts[kind, number] = None
            return kind, number, None
        names = self.random.sample(["town", "rank", "tags", "note", "price"], self.random.randint(1, 3))
        fields = self._fields()
        changed = {**fact, **{name: fields[name] for name in names if name in fields}}
        if "town" in names and "town" not in fields:
            changed.pop("town", None)
        return kind, number, self._keep(kind, number, changed)

    def identity(self, kind: Kind, number: int) -> Fact:
        """Who a fact is, also when it is gone."""
        return {"id": f"f{number // 2 if kind.has_home else number}", "home": f"h{number % HOMES}"}

    def _fields(self) -> Fact:
        """Mostly good: some facts have no town, some a rank that no index by rank can take."""
        draw = self.random
        fields: Fact = {
            "rank": draw.randrange(100) if draw.random() > 0.01 else NO_RANK,
            "tags": [f"tag{draw.randrange(TAGS)}" for _ in range(draw.randrange(3))],
            "note": f"n{draw.randrange(10**6)}",
            "price": draw.randrange(100) / 10,
        }
        return fields if draw.random() < 0.04 else {**fields, "town": f"town{draw.randrange(TOWNS)}"}

    def _keep(self, kind: Kind, number: int, fact: Fact) -> Fact:
        self.revisions[kind, number] += 1
        kept = {**fact, "revision": self.revisions[kind, number]}
        if fact["rank"] == NO_RANK:
            kept.setdefault("town", "town0")  # without a town it might be left out instead of refused
        self.facts[kind, number] = kept
        return kept

    # ------------------------------------------------------------------------------------------------ brute force

    def entries(self, kind: Kind) -> dict[str, Counter[str]]:
        """What each index of a source must have."""
        there = [fact for (each, _), fact in self.facts.items() if each == kind and fact is not None]
        return {
            f"{kind.source}-by-town": Counter(
                entry(kind, fact, {"town": fact["town"], "rank": fact["rank"]}, {"note": fact["note"]})
                for fact in there
                if "town" in fact and fact["rank"] != NO_RANK
            ),
            f"{kind.source}-by-tag": Counter(
                entry(kind, fact, {"tag": tag, "town": fact["town"]}, {"rank": fact["rank"]})
                for fact in there
                for tag in set(fact["tags"])
                if "town" in fact
            ),
            f"{kind.source}-high": Counter(
                entry(kind, fact, {"town": fact["town"]}, fact)
                for fact in there
                if "town" in fact and fact["rank"] != NO_RANK and fact["rank"] >= HIGH
            ),
            f"{kind.source}{SUMMARY}": self.groups(kind),
        }

    def groups(self, kind: Kind) -> Counter[str]:
        """What the summary of a source must have."""
        prices: dict[str, list[Decimal]] = {}
        for (each, _), fact in self.facts.items():
            if each == kind and fact is not None and "town" in fact:
                prices.setdefault(fact["town"], []).append(Decimal(str(fact["price"])))
        return Counter(group_text(town, len(paid), sum(paid, Decimal(0))) for town, paid in prices.items())

    def unprojectable(self) -> set[tuple[str, str, str]]:
        """Source, index and fact of every change that must be a dead letter."""
        return {
            (kind.source, f"{kind.source}-{index}", fact_name(kind, fact))
            for (kind, _), fact in self.facts.items()
            for index in ("by-town", "high")
            if fact is not None and fact["rank"] == NO_RANK
        }


def fact_name(kind: Kind, fact: Fact) -> str:
    """A fact's identity as a dead letter and an entry say it."""
    return _text({"id": fact["id"], "partitionKey": [fact["home"]] if kind.has_home else []})


def entry(kind: Kind, fact: Fact, key: Fact, projected: Fact) -> str:
    """An entry as one text, to be counted."""
    return f"{fact_name(kind, fact)} {_text(key)} {_text(projected)}"


def group_text(town: str, facts: int, spent: Decimal) -> str:
    """A group of a summary as one text."""
    return f"{town}: {facts} facts, {spent.normalize():f} spent"


def found_entry(row: Fact) -> str:
    """The same of an entry that an outsider has read."""
    name = {"id": row["id"], "partitionKey": row["partitionKey"]}
    return f"{_text(name)} {_text(row['key'])} {_text(row['data'])}"


def _text(value: Fact) -> str:
    return json.dumps(value, sort_keys=True)
