"""The sample facts: what the examples, the demo and the documentation count on."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).parents[2] / "local" / "samples"


def facts(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SAMPLES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("customers", {"id", "customerId", "firstName", "lastName", "phone", "email"}),
        ("movies", {"id", "title", "year", "genre", "cast", "released"}),
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
