"""The sample facts: what the examples, the demo and the documentation count on."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from shared.definitions.files import read_definitions
from shared.sources.sending import FactEvents
from tests.support import ROOT

SAMPLES = ROOT / "local" / "run" / "samples"


def facts(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SAMPLES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("customers", {"id", "customerId", "firstName", "lastName", "phone", "email"}),
        ("movies", {"id", "title", "year", "genre", "cast", "released"}),
        ("orders", {"id", "revision", "customer", "placedAt", "status", "total", "lines"}),
    ],
)
def test_every_fact_has_its_fields_and_an_id_of_its_own(name: str, fields: set[str]) -> None:
    """Optional fields may be missing: sparse indexes want to be seen, too."""
    found = facts(name)
    assert all(fields <= set(fact) for fact in found)
    assert len({fact["id"] for fact in found}) == len(found) >= 60


def test_customers_share_towns_and_some_are_deleted() -> None:
    """An index by town has partitions with several entries, one customer without a town, some soft deletes."""
    found = facts("customers")
    towns = Counter(fact.get("town") for fact in found)
    assert {"Redmond", "Seattle", "Portland", "Chicago"} <= set(towns)
    assert towns[None] == 1
    assert sum(bool(fact.get("isDeleted")) for fact in found) == 2


def test_movies_share_actors_and_some_are_unreleased() -> None:
    """Every actor plays in several movies; an index of released movies leaves some out."""
    found = facts("movies")
    roles = Counter(actor for fact in found for actor in fact["cast"])
    assert min(roles.values()) >= 2
    assert all(len(set(fact["cast"])) == len(fact["cast"]) >= 3 for fact in found)
    assert {fact["released"] for fact in found} == {True, False}


def test_orders_are_of_our_customers_and_some_order_often() -> None:
    """An index by customer has partitions with several entries."""
    customers = {fact["customerId"] for fact in facts("customers")}
    orders = Counter(fact["customer"]["id"] for fact in facts("orders"))
    assert set(orders) <= customers
    assert orders.most_common(1)[0][1] >= 5


def test_every_order_is_an_event_that_the_pipeline_reads() -> None:
    """With the project's own definitions."""
    source = read_definitions(ROOT / "indexes.yaml").require().sources["orders"]
    keys = {FactEvents(source).event(order).key for order in facts("orders")}
    assert len(keys) == len(facts("orders"))
