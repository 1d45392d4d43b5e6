"""Contributions and totals of arbitrary definitions and facts against a count by hand."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.entries.projection.generations import plan_of
from shared.entries.rows.json_text import loads
from shared.entries.summaries import extremes
from shared.entries.summaries.extremes import Extremes
from shared.entries.summaries.rows import contribution_in, sort_of
from shared.entries.summaries.totals import Amount, Contribution, SummaryLayout, Total
from tests.worlds.world import Writer, definitions_of

NUMBERS = st.one_of(
    st.none(),
    st.sampled_from([0.1, 0.2, 0.3, -0.1, 1, 2, 10**20, 1e308, 5e-324]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(10**30), 10**30),
)
TOWNS = st.sampled_from(["Aachen", "aachen", "Bonn", "", None])
ORDERS = st.lists(st.fixed_dictionaries({"town": TOWNS, "spent": NUMBERS}), max_size=6)
FACTS = st.lists(
    st.fixed_dictionaries(
        {"country": TOWNS, "town": TOWNS, "spent": NUMBERS, "orders": ORDERS, "active": st.booleans()}
    ),
    max_size=8,
)
SOURCES = "version: 1\nsources:\n  people: {cosmos: {database: d, container: people}, partitionKey: id}\nindexes:\n"


def summary(*, each: bool, where: bool, fold: bool, nulls: bool, shards: int, hot: bool = False) -> str:
    """A definition."""
    town = f"{{path: {'order.town' if each else 'town'}, fold: case}}" if fold else ("order.town" if each else "town")
    if nulls:
        town = town.replace("}", ", nulls: index}") if fold else f"{{path: {town}, nulls: index}}"
    spent = "order.spent" if each else "spent"
    options = ["each: {order: orders}"] * each + ["where: active"] * where + ["hot: {Bonn: 4}"] * hot
    return SOURCES + (
        f"  s: {{source: people, partition: country, sort: {town}, shards: {shards}, "
        f"{''.join(f'{option}, ' for option in options)}"
        f"summarize: {{people: facts, orders: count, total: {{sum: {spent}}}, mean: {{average: {spent}}}, "
        f"least: {{min: {spent}}}, most: {{max: {spent}}}}}}}\n"
    )


DEFINITIONS = st.builds(
    summary,
    each=st.booleans(),
    where=st.booleans(),
    fold=st.booleans(),
    nulls=st.booleans(),
    shards=st.integers(1, 3),
    hot=st.booleans(),
)


def counted_by_hand(text: str, facts: list[dict[str, Any]]) -> dict[tuple[Any, Any], dict[str, Any]]:
    """Facts, elements and values of each group."""
    groups: dict[tuple[Any, Any], dict[str, Any]] = defaultdict(lambda: {"facts": set(), "orders": 0, "values": []})
    for number, fact in enumerate(facts):
        if "where: active" in text and not fact["active"]:
            continue
        for element in fact["orders"] if "each" in text else [fact]:
            town = element["town"]
            if fact["country"] is None or (town is None and "nulls" not in text):
                continue
            group = groups[fact["country"], town.lower() if "fold" in text and town else town]
            group["facts"].add(number)
            group["orders"] += 1
            if element["spent"] is not None:
                group["values"].append(Fraction(Decimal(repr(element["spent"]))))
    return groups


@given(DEFINITIONS, FACTS)
def test_totals_are_what_a_count_by_hand_gives(text: str, facts: list[dict[str, Any]]) -> None:
    """Over arbitrary options: elements, conditions, folded and missing values, shards."""
    definitions = definitions_of(text)
    (generation,) = plan_of(definitions, "people").generations
    layout = generation.layout
    assert layout is not None
    writer = Writer(definitions, "people")
    found: dict[tuple[Any, Any], Total] = {}
    for number, fact in enumerate(facts):
        change = writer.change(f"f{number}", fact)
        for entry in generation.projector.project(change):
            key = loads(str(entry.columns["_key"]))
            group = key["country"], key["town"]
            found[group] = found.get(group, layout.empty).plus(contribution_in(entry.columns, layout))
            assert sort_of(entry.entry_key, change.fact_key) in entry.entry_key
    wanted = counted_by_hand(text, facts)
    assert found.keys() == wanted.keys()
    for group, total in found.items():
        values = wanted[group]["values"]
        (amount,) = total.amounts
        shown = layout.shown(total)
        assert (shown["people"], shown["orders"]) == (len(wanted[group]["facts"]), wanted[group]["orders"])
        assert (Fraction(amount.sum), amount.present) == (sum(values, Fraction(0)), len(values))
        assert amount.smallest is not None and amount.largest is not None
        assert [amount.smallest.first, amount.largest.first] == ([min(values), max(values)] if values else [None, None])
        assert (shown["mean"] is None) == (not values)


LAYOUT = SummaryLayout(
    definitions_of(summary(each=False, where=False, fold=False, nulls=False, shards=1)).indexes["s"].summarize or ()
)
SMALL = st.integers(0, 6).map(Decimal)


@pytest.fixture(autouse=True)
def _short_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of extremes run empty soon."""
    monkeypatch.setattr(extremes, "KEPT", 3)


@given(st.lists(st.tuples(st.booleans(), SMALL), max_size=40))
def test_a_total_that_gains_and_loses_is_the_sum_of_what_is_left(steps: list[tuple[bool, Decimal]]) -> None:
    """Its extremes are right, or known to be unknown."""
    left: list[Decimal] = []
    total = LAYOUT.empty
    for is_gain, value in steps:
        one = Contribution(1, (Amount.of([value]),))
        if is_gain:
            left.append(value)
            total = total.plus(one)
        elif value in left:
            left.remove(value)
            total = total.minus(one)
        (amount,) = total.amounts
        assert (total.facts, amount.sum, amount.present) == (len(left), sum(left), len(left))
        for kept, sign in ((amount.smallest, 1), (amount.largest, -1)):
            assert kept is not None
            right = Extremes.of(sign, left)
            assert kept.is_unknown or kept.values == right.values[: len(kept.values)]
            assert kept.is_unknown or kept.values or not left
            assert not kept.is_whole or kept.values == right.values


@given(st.lists(st.lists(SMALL, max_size=8), min_size=2, max_size=4))
def test_totals_of_shards_add_up(shards: list[list[Decimal]]) -> None:
    """In any order, to the total of all."""
    totals = [LAYOUT.total_of([Contribution(1, (Amount.of([value]),)) for value in shard]) for shard in shards]
    merged = totals[0]
    for total in totals[1:]:
        merged = merged.merged(total)
    together = LAYOUT.total_of([Contribution(1, (Amount.of([value]),)) for shard in shards for value in shard])
    assert LAYOUT.shown(merged) == LAYOUT.shown(together)


@given(st.lists(NUMBERS.filter(lambda number: number is not None), max_size=10))
def test_rows_give_back_what_they_hold(values: list[Any]) -> None:
    """Contributions and totals survive being written as JSON."""
    exact = [Decimal(repr(value)) for value in values]
    one = Contribution(len(values), (Amount.of(exact),))
    assert LAYOUT.contribution_of_plain(LAYOUT.plain_contribution(one)) == one
    total = LAYOUT.empty.plus(one)
    assert LAYOUT.total_of_plain(LAYOUT.plain_total(total)) == total
