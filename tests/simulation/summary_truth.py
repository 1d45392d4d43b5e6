"""What summaries must be: totals are the sums of contributions at every instant, and those of a recount at the end.

Both are computed without the code that writes them.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import orjson

from shared.errors import UnprojectableError
from shared.pipeline.apply.batch import newest_of_each
from shared.tables.memory.store import as_row
from tests.simulation.programs import stored_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shared.entries.changes.change import Change
    from shared.entries.projection.generations import Generation
    from shared.entries.projection.projector import Entry
    from shared.tables.memory.store import Store

Numbers = dict[str, Any]
# What a contribution row has beside what its fact projects to.
_NOT_PROJECTED = {"PartitionKey", "RowKey", "_at", "_lane"}


def broken_totals(generation: Generation, store: Store) -> str | None:
    """A total that is not the sum of the contributions of its lane, or None."""
    for table, partition in _partitions(generation, store):
        if text := broken_totals_in(table, partition, store):
            return text
    return None


def broken_totals_in(table: str, partition: str, store: Store) -> str | None:
    """The same of one partition."""
    totals: dict[tuple[str, int], Numbers] = {}
    counted: dict[tuple[str, int], list[Numbers]] = {}
    for row_key, entity in _rows(table, partition, store):
        plain = orjson.loads(entity["_json"]) if "_json" in entity else None
        if row_key[0] == "0":
            totals[row_key[1:-1], int(row_key[-1])] = plain or {}
        elif plain is not None:
            fact = orjson.loads(entity["_fact"])
            group = row_key[1:].removesuffix(f"{fact['id']} !{fact['id']} !")
            counted.setdefault((group, entity["_lane"]), []).append(plain)
    for lane in totals.keys() | counted.keys():
        wanted = _sum(counted.get(lane, []))
        if text := _difference(totals.get(lane), wanted):
            return f"{partition}{lane}: {text}, total {totals.get(lane)}, sum {wanted}"
    return None


def _sum(contributions: list[Numbers]) -> Numbers | None:
    if not contributions:
        return None
    of: dict[str, Any] = {}
    for path in contributions[0]["of"]:
        amounts = [each["of"][path] for each in contributions]
        outermost = ([Decimal(each[at]) for each in amounts if each[at] is not None] for at in (2, 3))
        of[path] = (sum(Fraction(each[0]) for each in amounts), sum(each[1] for each in amounts), *outermost)
    return {"facts": len(contributions), "elements": sum(each["elements"] for each in contributions), "of": of}


def _difference(total: Numbers | None, wanted: Numbers | None) -> str | None:
    if total is None or wanted is None:
        return None if total is wanted else "one is missing"
    if (total["facts"], total["elements"]) != (wanted["facts"], wanted["elements"]):
        return "the counts differ"
    for path, (number, present, smallest, largest) in wanted["of"].items():
        found = total["of"][path]
        if (Fraction(found[0]), found[1]) != (number, present):
            return f"the sums of {path} differ"
        for plain, values, last in ((found[2], smallest, False), (found[3], largest, True)):
            if plain is not None and not _are_extremes(plain, sorted(values, reverse=last)):
                return f"the extremes of {path} differ"
    return None


def _are_extremes(plain: list[Any], values: list[Decimal]) -> bool:
    """Whether a list has the first of these values, all with their counts; unknown ones may be anything."""
    counted = [(Decimal(text), count) for text, count in plain[0]]
    if not counted and not plain[1]:
        return True
    first = list(dict.fromkeys(values))[: len(counted)]
    is_whole = len(dict.fromkeys(values)) == len(counted)
    return counted == [(value, values.count(value)) for value in first] and (is_whole or not plain[1])


def shown_contributions(generation: Generation, store: Store) -> Iterator[tuple[str, str, frozenset[tuple[str, Any]]]]:
    """What each fact adds to each group: partition, row and columns."""
    for table, partition in _partitions(generation, store):
        for row_key, entity in _rows(table, partition, store):
            if row_key[0] != "0" and "_json" in entity:
                yield partition, row_key, frozenset((name, entity[name]) for name in entity.keys() - _NOT_PROJECTED)


def shown_groups(generation: Generation, store: Store) -> dict[str, Numbers]:
    """What a reader adds up: the groups of all shards and lanes, by their key."""
    shown: dict[str, Numbers] = {}
    for table, partition in _partitions(generation, store):
        for row_key, entity in _rows(table, partition, store):
            if row_key[0] == "0":
                plain = orjson.loads(entity["_json"])
                group = shown.setdefault(entity["_key"], {"facts": 0, "elements": 0})
                group["facts"] += plain["facts"]
                group["elements"] += plain["elements"]
                for path, (number, present, *_) in plain["of"].items():
                    total, count = group.get(path, (Fraction(0), 0))
                    group[path] = (total + Fraction(number), count + present)
    return shown


def expected_groups(generation: Generation, changes: Iterable[Change]) -> dict[str, Numbers]:
    """The same from the newest facts: a recount of what they project to."""
    expected: dict[str, Numbers] = {}
    for change in newest_of_each(changes):
        for entry in _entries(generation, change):
            plain = orjson.loads(str(entry.columns["_json"]))
            group = expected.setdefault(str(entry.columns["_key"]), {"facts": 0, "elements": 0})
            group["facts"] += 1
            group["elements"] += plain["elements"]
            for path, (number, present, *_) in plain["of"].items():
                total, count = group.get(path, (Fraction(0), 0))
                group[path] = (total + Fraction(number), count + present)
    return expected


def _entries(generation: Generation, change: Change) -> tuple[Entry, ...]:
    try:
        return generation.projector.project(change)
    except UnprojectableError:
        return ()


def summary_difference(generation: Generation, changes: Iterable[Change], store: Store) -> str | None:
    """How a summary differs from a recount, or None."""
    if text := broken_totals(generation, store):
        return text
    wanted, found = expected_groups(generation, changes), shown_groups(generation, store)
    return None if wanted == found else f"summary {generation.index.name}: wanted {wanted}, found {found}"


def _partitions(generation: Generation, store: Store) -> Iterator[tuple[str, str]]:
    for account, name in sorted(generation.tables()):
        table = stored_name(account, name)
        for partition in store.partition_keys(table):
            yield table, partition


def _rows(table: str, partition: str, store: Store) -> Iterator[tuple[str, dict[str, Any]]]:
    for row_key, stored in sorted(store.partition(table, partition).items()):
        row = as_row((table, partition, row_key), stored)
        if row is not None:
            yield row_key, row.entity
