"""Lookups in summaries of arbitrary definitions against a count by hand, after a history of versions: two workers that
meet in the groups, facts that change, move, go and return, versions that come again, short pages."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.entries.summaries import extremes
from shared.inputs.page_tokens import PageTokens
from shared.lookup.count import count_entries
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.tables.memory.memory_tables import MemoryTables
from tests.property.entries.test_summaries import DEFINITIONS, NUMBERS, counted_by_hand
from tests.property.lookup.test_lookups import ShortPages
from tests.worlds.world import World

# Few, so that facts meet.
COUNTRIES = ("Bonn", "Aachen")
TOWNS = st.sampled_from(["Bonn", "bonn", None])
FACTS = st.fixed_dictionaries(
    {
        "country": st.sampled_from(COUNTRIES),
        "town": TOWNS,
        "spent": NUMBERS,
        "orders": st.lists(st.fixed_dictionaries({"town": TOWNS, "spent": NUMBERS}), max_size=4),
        "active": st.sampled_from([True, True, False]),
    }
)
# Fact, document or delete, worker.
STEPS = st.tuples(st.integers(0, 5), st.one_of(st.none(), FACTS, FACTS, FACTS), st.integers(0, 1))
HISTORIES = st.lists(STEPS, min_size=1, max_size=16)
# A step beyond what a double distinguishes: means are quotients, and the smallest double has no half.
NEAREST = Fraction(1, 2**52)
SMALLEST = Fraction(Decimal("5e-324"))


@pytest.fixture(autouse=True)
def _short_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of extremes run empty soon."""
    monkeypatch.setattr(extremes, "KEPT", 2)


async def apply_history(tables: MemoryTables, text: str, history: list[tuple[int, Any, int]], repeats: bool) -> World:
    """Each step is a batch of one of two workers; in the end the other one may get all of them again."""
    workers = [World(tables, text), World(tables, text)]
    await workers[0].create_tables()
    changes = [workers[0].writer.change(f"f{number}", fact) for number, fact, _ in history]
    for change, (_, _, worker) in zip(changes, history, strict=True):
        await workers[worker].apply(change)
    if repeats:
        await workers[1].apply(*changes)
    return workers[0]


async def groups_of(lookups: Lookups, country: str, size: int) -> list[tuple[Any, dict[str, Any]]]:
    """All groups of a country, page by page."""
    asked: dict[str, str] | None = {"country": country, "maxpagesize": str(size)}
    found: list[tuple[Any, dict[str, Any]]] = []
    while asked is not None:
        page = await lookups.find("s", asked)
        assert len(page.entries) <= size
        for entry in page.entries:
            assert entry.keys() == {"key", "data"}
            assert entry["key"]["country"] == country
            found.append((entry["key"]["town"], entry["data"]))
        asked = page.next_parameters
    return found


def is_shown(shown: Any, exact: Fraction) -> bool:
    """Whole numbers with all their digits, others as the nearest double; beyond all doubles without a fraction."""
    try:
        return bool(shown == (int(exact) if exact.denominator == 1 else float(exact)))
    except OverflowError:
        return bool(shown == int(exact))


def is_mean(shown: Any, exact: Fraction) -> bool:
    """As near as a double can be."""
    return abs(Fraction(shown) - exact) <= max(abs(exact) * NEAREST, SMALLEST)


@given(DEFINITIONS, HISTORIES, st.integers(1, 3), st.lists(st.integers(0, 3), max_size=4), st.booleans())
def test_lookups_show_what_a_count_by_hand_gives(
    text: str, history: list[tuple[int, Any, int]], size: int, limits: list[int], repeats: bool
) -> None:
    """Every group once, in order (nulls first), with every measure; and none without facts."""

    async def run() -> None:
        tables = MemoryTables()
        world = await apply_history(tables, text, history, repeats)
        reached = MemoryTables(tables.store, ShortPages(limits))
        lookups = Lookups(DefinedGenerations(world.definitions), Replicas(reached), PageTokens(b"k"))
        newest = {number: fact for number, fact, _ in history}
        wanted = counted_by_hand(text, [fact for fact in newest.values() if fact is not None])
        for country in COUNTRIES:
            found = await groups_of(lookups, country, size)
            towns = [town for each, town in wanted if each == country]
            assert [town for town, _ in found] == sorted(towns, key=lambda town: (town is not None, town or ""))
            assert (await count_entries(lookups, "s", {"country": country})).count == len(found)
            for town, data in found:
                of_group = wanted[country, town]
                values = of_group["values"]
                assert (data["people"], data["orders"]) == (len(of_group["facts"]), of_group["orders"])
                assert is_shown(data["total"], sum(values, Fraction(0)))
                if not values:
                    assert (data["mean"], data["least"], data["most"]) == (None, None, None)
                    continue
                assert is_mean(data["mean"], sum(values, Fraction(0)) / len(values))
                assert is_shown(data["least"], min(values)) and is_shown(data["most"], max(values))

    asyncio.run(run())
