"""Made-up indexes with facts and their histories, written as rows, and brute force over the facts as the judge."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from shared.definitions.model import CosmosContainer, Each, Expire, Index, KeyPart, Placement, Source
from shared.definitions.utf16 import utf16_length
from shared.definitions.values import folded, sort_rank
from shared.entries.changes.change import FactReader
from shared.entries.keys.fact_key import encode_fact_key
from shared.entries.keys.index_keys import row_key
from shared.entries.keys.limits import SORT_UNITS, cut_to_fit
from shared.entries.keys.periods import period_of, table_of
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.entries.keys.versions import ticks_clock
from shared.entries.projection.projector import Projector
from shared.entries.rows.entry_row import live_row, tombstone_row
from shared.lookup.asking.plan import COMBINATIONS_MAX
from shared.lookup.generations import ReadableGeneration, generation_of
from shared.tables.port import Delete, Operation, Upsert, key_of
from tests.property.strategies import VALUES, long_texts, orders, part_types, texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.definitions.model import PartType, PartValue
    from shared.entries.keys.bounds import Operator
    from shared.tables.port import Tables

SOURCE = Source("facts", cosmos=CosmosContainer("d", "c"), partition_key=("pk",))
OTHER_ACCOUNT = "INDEX_2"
PAGES_MAX = 200
# 2027-01-15T08:00:00Z
NOW_SECONDS = 1_800_000_000
AFTER_DAYS = 30
# By whether what expires thirty days later has expired now: over long ago, just now, near, far.
UNTIL = {
    "2026-10-01T00:00:00Z": True,
    "2026-12-16T08:00:00Z": True,
    "2026-12-16T08:00:01Z": False,
    "2027-01-10T00:00:00Z": False,
    "2031-05-05T00:00:00Z": False,
}
PERIODS = [
    Expire("until", AFTER_DAYS * 86_400),
    Expire("until", AFTER_DAYS * 86_400, "week"),
    Expire("until", AFTER_DAYS * 86_400, "month"),
]


def as_text(value: PartValue) -> str:
    """A value as a caller writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def order_of(part: KeyPart, value: PartValue | None) -> tuple[int, Any]:
    """The order of a value among its part's values, ascending; null is below all."""
    if value is None:
        return (0, 0)
    return (1, sort_rank(part.type, folded(value) if part.fold and isinstance(value, str) else value))


class Downwards:
    """The opposite order."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __lt__(self, other: Downwards) -> bool:
        return bool(other.inner < self.inner)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Downwards) and bool(self.inner == other.inner)

    __hash__ = None  # type: ignore[assignment]  # a sort key is never hashed


def order_key(index: Index, values: dict[str, PartValue | None], fact_key: str) -> tuple[Any, ...]:
    """Sorts entries as the index does, also those of several partitions."""
    orders = [
        Downwards(order_of(part, values[part.name])) if part.order == "desc" else order_of(part, values[part.name])
        for part in index.sort
    ]
    return (*orders, *partition_order(index, values), fact_key.encode("utf-16-be"))


def partition_order(index: Index, values: dict[str, PartValue | None]) -> tuple[Any, ...]:
    """Sorts partitions, which stand behind the sort parts when several are merged."""
    return tuple(
        Downwards(order_of(part, values[part.name])) if part.order == "desc" else order_of(part, values[part.name])
        for part in index.partition
    )


@dataclass
class Asked:
    """A lookup: its conditions by part as (operator or "" or "null", value), lists of values by part, and a filter
    that holds for a number above this."""

    conditions: dict[str, list[tuple[str, PartValue | None]]]
    lists: dict[str, list[PartValue | None]] = field(default_factory=dict)
    above: int | None = None

    def parameters(self) -> dict[str, str]:
        """As a caller sends it."""
        found = {}
        for name, conditions in self.conditions.items():
            for operator, value in conditions:
                if value is None:
                    found[f"{name}.null"] = "true"
                else:
                    found[f"{name}.{operator}" if operator else name] = as_text(value)
        found |= {f"{name}.in": json.dumps(values) for name, values in self.lists.items()}
        return found if self.above is None else {**found, "filter": f"data.n > `{self.above}`"}

    def holds(self, index: Index, values: dict[str, PartValue | None]) -> bool:
        """Whether an entry with these values was asked for."""
        return all(
            _compare(part, operator, values[part.name], wanted)
            for part in index.parts
            for operator, wanted in self.conditions.get(part.name, [])
        ) and all(
            any(_compare(part, "", values[part.name], wanted) for wanted in self.lists[part.name])
            for part in index.parts
            if part.name in self.lists
        )


def _compare(part: KeyPart, operator: str, value: PartValue | None, wanted: PartValue | None) -> bool:
    if operator == "prefix":
        fold = folded if part.fold else str
        return isinstance(value, str) and fold(value).startswith(fold(str(wanted)))
    if operator == "":
        return order_of(part, value) == order_of(part, wanted)
    if value is None:
        return False
    here, there = order_of(part, value), order_of(part, wanted)
    return {"lt": here < there, "le": here <= there, "gt": here > there, "ge": here >= there}[operator]


@dataclass
class World:
    """An index, its facts as they are now, and the clock of their changes."""

    index: Index
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    clock: int = 0

    def __post_init__(self) -> None:
        self.generation: ReadableGeneration = generation_of(self.index, SOURCE)
        self._reader = FactReader(SOURCE)
        self._projector = Projector(self.index, SOURCE)
        # Entry key to the versions of its rows, so that masked rows can stay or be deleted.
        self._rows: dict[tuple[str, str], list[str]] = {}
        self._live: dict[str, set[tuple[str, str]]] = {}

    def change(self, fact_id: str, document: dict[str, Any] | None, *, tidy: bool) -> list[Operation]:
        """The writes of a change, as the pipeline makes them; untidy ones leave the older rows of an entry key
        behind."""
        self.clock += 1
        clock = ticks_clock(self.clock, 0)
        assert clock is not None
        change = self._reader.change(fact_id, ("p",), clock, document)
        entries = {(entry.partition_key, entry.entry_key): entry for entry in self._projector.project(change)}
        operations: list[Operation] = []
        for (partition, entry_key), entry in entries.items():
            operations.append(Upsert(live_row(partition, entry_key, change.version, entry.columns)))
        for partition, entry_key in self._live.get(fact_id, set()) - entries.keys():
            operations.append(Upsert(tombstone_row(partition, entry_key, change.version)))
        for key in {*entries, *self._live.get(fact_id, set())}:
            versions = self._rows.setdefault(key, [])
            if tidy:
                operations.extend(Delete(key[0], row_key(key[1], version)) for version in versions)
                versions.clear()
            versions.append(change.version)
        self._live[fact_id] = set(entries)
        if document is None:
            self.facts.pop(fact_id, None)
        else:
            self.facts[fact_id] = document
        return operations

    def entries(self) -> list[tuple[str, dict[str, PartValue | None]]]:
        """Every (fact id, key values) that the index should hold, by brute force."""
        found = []
        for fact_id, document in self.facts.items():
            if UNTIL.get(document.get("until", "")):
                continue
            seen = []
            for element in document["tags"] if self.index.each else [None]:
                values = {
                    part.name: element if part.path == "el" else document.get(part.path) for part in self.index.parts
                }
                orders = [order_of(part, values[part.name]) for part in self.index.parts]
                kept = all(part.keeps_nulls or values[part.name] is not None for part in self.index.parts)
                if kept and orders not in seen:
                    seen.append(orders)
                    found.append((fact_id, values))
        return found

    def expected(self, asked: Asked) -> list[tuple[str, dict[str, PartValue | None]]]:
        """The answer, in order. Keys over their budget are cut, and behind the cut they stand by their digests."""
        found = [
            (fact_id, values)
            for fact_id, values in self.entries()
            if asked.holds(self.index, values) and (asked.above is None or self.facts[fact_id]["n"] > asked.above)
        ]
        if any(utf16_length(self._whole_sort(values)) > SORT_UNITS for _, values in found):
            return sorted(found, key=self._place_by_key)
        return sorted(found, key=lambda each: order_key(self.index, each[1], encode_fact_key(("p",), each[0])))

    def _whole_sort(self, values: dict[str, PartValue | None]) -> str:
        return self.generation.keys.whole_sort([values[part.name] for part in self.index.sort])

    def _place_by_key(self, entry: tuple[str, dict[str, PartValue | None]]) -> tuple[Any, ...]:
        fact_id, values = entry
        sort = cut_to_fit(self._whole_sort(values), SORT_UNITS).encode("utf-16-be")
        return (sort, *partition_order(self.index, values), encode_fact_key(("p",), fact_id).encode("utf-16-be"))


async def write(accounts: Mapping[str, Tables], generation: ReadableGeneration, operations: list[Operation]) -> None:
    """One after the other: a row may be written and deleted by the same change. Tables of periods are made."""
    made = set()
    for operation in operations:
        table, partition_key = generation.table, str(key_of(operation)[0])
        if generation.keys.shards.periods is not None:
            table = table_of(table, period_of(partition_key))
        account = generation.keys.accounts.account_of(partition_key)
        if (account, table) not in made:
            await accounts[account].create_table(table)
            made.add((account, table))
        await accounts[account].transact(table, [operation])


@st.composite
def key_parts(draw: st.DrawFn, name: str) -> KeyPart:
    """A key part of any kind."""
    part_type: PartType = draw(part_types)
    return KeyPart(
        path=name,
        name=name,
        type=part_type,
        order=draw(orders),
        fold=part_type == "string" and draw(st.booleans()),
        keeps_nulls=draw(st.booleans()),
    )


@st.composite
def indexes(draw: st.DrawFn) -> Index:
    """One or two partition parts and up to three sort parts, perhaps sharded, multi-valued, or in periods."""
    partition = [draw(key_parts(f"p{number}")) for number in range(draw(st.integers(1, 2)))]
    sort: list[KeyPart] = [draw(key_parts(f"s{number}")) for number in range(draw(st.integers(0, 3)))]
    each = None
    multi_valued: list[KeyPart] | None = draw(st.sampled_from([None, sort, partition]))
    if multi_valued:
        each = Each("el", "tags")
        multi_valued[0] = replace(multi_valued[0], path="el")
    return Index(
        "by-everything",
        SOURCE.name,
        tuple(partition),
        tuple(sort),
        project=("n",),
        each=each,
        shards=draw(st.sampled_from([1, 1, 3])),
        expire=draw(st.none() | st.sampled_from(PERIODS)),
    )


def pools(draw: st.DrawFn, index: Index) -> dict[str, list[PartValue | None]]:
    """A few values for each part, so that facts share them."""
    found = {}
    for number, part in enumerate(index.parts):
        values = VALUES[part.type] if part.type != "string" else st.one_of(texts, texts, long_texts)
        is_lead = number < len(index.partition)
        pool = draw(st.lists(values, min_size=1, max_size=2 if is_lead else 4))
        found[part.name] = [*pool, None] if part.keeps_nulls or draw(st.booleans()) else list(pool)
    return found


@st.composite
def layouts(draw: st.DrawFn, index: Index, values: dict[str, list[PartValue | None]]) -> Index:
    """The index with a hot value and in two accounts, perhaps."""
    first = index.partition[0].name
    named = [value for value in values[first] if value is not None and utf16_length(str(value)) < 100]
    placements: list[Placement | None] = [None, Placement("hash", (DEFAULT_ACCOUNT, OTHER_ACCOUNT))]
    hot: list[tuple[tuple[PartValue, int], ...]] = [()]
    if named:
        placements.append(Placement("list", (), ((named[0], OTHER_ACCOUNT),), default=DEFAULT_ACCOUNT))
        hot.append(((named[-1], 2),))
    return replace(index, placement=draw(st.sampled_from(placements)), hot=draw(st.sampled_from(hot)))


@st.composite
def documents(draw: st.DrawFn, index: Index, values: dict[str, list[PartValue | None]]) -> dict[str, Any]:
    """A fact with values from the pools."""
    document: dict[str, Any] = {"n": draw(st.integers(0, 9))}
    for part in index.parts:
        if part.path == "el":
            document["tags"] = draw(st.lists(st.sampled_from(values[part.name]), max_size=3))
        else:
            document[part.path] = draw(st.sampled_from(values[part.name]))
    until = None if index.expire is None else draw(st.none() | st.sampled_from(sorted(UNTIL)))
    return document if until is None else {**document, "until": until}


@st.composite
def lookups(draw: st.DrawFn, index: Index, values: dict[str, list[PartValue | None]]) -> Asked:
    """A lookup that has a plan, with values that facts have and values near them."""
    conditions: dict[str, list[tuple[str, PartValue | None]]] = {}
    usable = {
        part.name: [value for value in values[part.name] if value is not None or part.keeps_nulls]
        for part in index.parts
    }
    lists: dict[str, list[PartValue | None]] = {}
    leading = draw(st.integers(0, len(index.sort)))
    for part in index.partition + index.sort[:leading]:
        found = draw(_listed(part, usable[part.name]))
        if len(found) > 1 and prod(map(len, lists.values())) * len(found) <= COMBINATIONS_MAX:
            lists[part.name] = found
        else:
            conditions[part.name] = [("", found[0])]
    if leading < len(index.sort) and draw(st.booleans()):
        part = index.sort[leading]
        conditions[part.name] = draw(_ranges(part, [value for value in usable[part.name] if value is not None]))
    return Asked(conditions, lists, draw(st.sampled_from([None, None, 4, 9])))


@st.composite
def _listed(draw: st.DrawFn, part: KeyPart, pool: list[PartValue | None]) -> list[PartValue | None]:
    """One value, or several that are different keys."""
    count = draw(st.sampled_from([1, 1, 2, 4]))
    values = st.sampled_from(pool) if count == 1 else st.sampled_from(pool) | VALUES[part.type]
    found: list[PartValue | None] = draw(
        st.lists(values, min_size=1, max_size=count, unique_by=lambda value: order_of(part, value))
    )
    return found


@st.composite
def _ranges(draw: st.DrawFn, part: KeyPart, pool: list[PartValue]) -> list[tuple[str, PartValue | None]]:
    if part.type == "string" and draw(st.booleans()):
        text = str(draw(st.sampled_from(pool)))
        return [("prefix", text[: draw(st.integers(0, len(text)))])]
    below: list[Operator] = ["lt", "le"]
    above: list[Operator] = ["gt", "ge"]
    values = st.one_of(st.sampled_from(pool), VALUES[part.type])
    chosen = draw(st.sampled_from([[below], [above], [below, above]]))
    return [(draw(st.sampled_from(side)), draw(values)) for side in chosen]


def same_values(index: Index, shown: dict[str, Any], values: dict[str, PartValue | None]) -> bool:
    """Whether an answer shows the values of an entry. Of equal keys the first element wins, so spelling may differ."""
    return all(
        order_of(part, shown[part.name]) == order_of(part, values[part.name])
        and (not isinstance(shown[part.name], float) or math.isfinite(shown[part.name]))
        for part in index.parts
    )
