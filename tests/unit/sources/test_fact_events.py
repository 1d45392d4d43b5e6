"""Facts become events that the pipeline reads as the same facts, keyed so that a fact stays in one partition."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.definitions.model import Source
from shared.entries.changes.event_changes import EventReader
from shared.errors import UnreadableChangeError
from shared.sources.sending import LARGEST_BODY_BYTES, LONGEST_KEY, FactEvents

ORDERS = Source("orders", event_hub="orders", partition_key=("customer.id",), version="revision")
VISITS = Source("visits", event_hub="visits", id="visit")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def order(**fields: Any) -> dict[str, Any]:
    """A fact."""
    return {"id": "o1", "customer": {"id": "c1"}, "revision": 3, **fields}


def test_the_envelope_says_all_that_the_source_declares() -> None:
    """The plain envelope, with the whole fact as its document."""
    assert json.loads(FactEvents(ORDERS).event(order()).body) == {
        "source": "orders",
        "op": "upsert",
        "id": "o1",
        "partitionKey": "c1",
        "version": 3,
        "document": order(),
    }


def test_a_source_that_declares_nothing_has_a_short_envelope() -> None:
    """No partition key, no version; the id may be a number under another name."""
    event = FactEvents(VISITS).event({"visit": 7})
    assert json.loads(event.body) == {"source": "visits", "op": "upsert", "id": 7, "document": {"visit": 7}}


@pytest.mark.parametrize(
    ("source", "fact"),
    [
        (ORDERS, order()),
        (ORDERS, {"id": "o1", "revision": 1}),
        (ORDERS, order(customer={"id": None})),
        (VISITS, {"visit": 7}),
    ],
)
def test_the_pipeline_reads_the_same_fact(source: Source, fact: dict[str, Any]) -> None:
    """Also when a partition key value is null or missing."""
    change = EventReader(source).read(FactEvents(source).event(fact).body, NOW, 1)
    assert change.document == fact


def test_versions_of_a_fact_share_a_key_and_other_facts_do_not() -> None:
    """The fact key is the partition key of the event."""
    events = FactEvents(ORDERS)
    key = events.event(order()).key
    assert key == events.event(order(revision=4, total=1)).key
    assert key != events.event(order(id="o2")).key
    assert key != events.event(order(customer={"id": "c2"})).key


@pytest.mark.parametrize("name", ["x" * 200, "Ålesund"])
def test_a_key_that_hubs_do_not_take_alike_becomes_a_digest(name: str) -> None:
    """The service takes 128 characters; SDKs disagree on the bytes of what is not ASCII."""
    key = FactEvents(ORDERS).event(order(id=name)).key
    assert key.isascii()
    assert len(key) <= LONGEST_KEY


@pytest.mark.parametrize(
    ("fact", "reason"),
    [
        ({"customer": {"id": "c1"}, "revision": 1}, "is no id"),
        (order(revision=None), "is no version"),
        (order(customer={"id": ["c1"]}), "is no partition key value"),
        (order(total=float("nan")), "NaN"),
        (order(text="\ud800"), "no JSON that can be written"),
        (order(text="x" * LARGEST_BODY_BYTES), "the service takes"),
    ],
)
def test_what_would_be_a_dead_letter_is_refused(fact: dict[str, Any], reason: str) -> None:
    """Before anything is sent."""
    with pytest.raises(UnreadableChangeError, match=reason):
        FactEvents(ORDERS).event(fact)
