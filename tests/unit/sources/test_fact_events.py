"""Facts become events that the pipeline reads as the same facts, keyed so that a fact stays in one partition."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from azure.eventhub import EventData

from shared.definitions.model import Events, Source
from shared.entries.changes.event_changes import EventReader
from shared.errors import UnreadableChangeError
from shared.sources.hub_events import received
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
        ({"customer": {"id": "c1"}, "revision": 1}, "is not an id"),
        (order(revision=None), "is not a version"),
        (order(customer={"id": ["c1"]}), "is not a partition key value"),
        (order(total=float("nan")), "NaN"),
        (order(text="\ud800"), "not JSON that can be written"),
        (order(text="x" * LARGEST_BODY_BYTES), "the service takes"),
    ],
)
def test_what_would_be_a_dead_letter_is_refused(fact: dict[str, Any], reason: str) -> None:
    """Before anything is sent."""
    with pytest.raises(UnreadableChangeError, match=reason):
        FactEvents(ORDERS).event(fact)


# ---------------------------------------------------------------------------------------------------- other forms

ROWS = Source("rows", event_hub="rows", events=Events("debezium"))
DOCUMENTS = Source("documents", event_hub="documents", events=Events("document"))


def row(number: int, op: str = "c") -> dict[str, Any]:
    """A change of Debezium."""
    return {"op": op, "after": {"id": number} if op == "c" else None, "source": {"ts_ms": 5}}


def test_a_document_is_sent_as_it_is() -> None:
    """Keyed by its fact."""
    event = FactEvents(DOCUMENTS).event({"id": "1", "n": 2})
    assert (json.loads(event.body), event.key) == ({"id": "1", "n": 2}, FactEvents(VISITS).event({"visit": 1}).key)


def test_an_event_that_nobody_can_invent_is_taken_as_it_is() -> None:
    """Its own key wins: a delete may be known by nothing else."""
    assert json.loads(FactEvents(ROWS).event(row(1)).body) == row(1)
    kept = {"body": row(1, "d"), "key": {"id": 1}, "properties": {"p": "v"}}
    event = FactEvents(ROWS).event(kept)
    assert (json.loads(event.body), event.key, event.properties) == (row(1, "d"), '{"id": 1}', {"p": "v"})
    change = FactEvents(ROWS).change(kept)
    assert change is not None
    assert (change.id, change.is_delete) == ("1", True)


def test_an_event_that_its_source_ignores_is_sent_all_the_same() -> None:
    """It may be for another source of the hub."""
    assert FactEvents(ROWS).change({"body": ""}) is None
    assert FactEvents(ROWS).event({"body": ""}).body == b""


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (row(1, "d"), "its record has no key in JSON"),
        ({"body": row(1, "d"), "key": "k" * (LONGEST_KEY + 1)}, f"the service takes {LONGEST_KEY}"),
        ({"bodyBase64": "?"}, "it is not an event that a hub kept"),
    ],
)
def test_an_event_that_would_be_a_dead_letter_is_refused(line: dict[str, Any], reason: str) -> None:
    """Before any is sent."""
    with pytest.raises(UnreadableChangeError, match=reason):
        FactEvents(ROWS).event(line)


def test_an_event_of_the_sdk_is_one_that_a_dead_letter_can_keep() -> None:
    """Its properties may be of any type that AMQP has."""
    data = EventData(b"{}")
    data.properties = {b"ce_type": b"t", "at": NOW, "share": float("nan"), "n": 1, "no": None}
    event = received(data)
    assert event.properties == {"ce_type": "t", "at": str(NOW), "share": "nan", "n": 1, "no": None}
    assert json.loads(json.dumps(dict(event.properties), allow_nan=False)) == event.properties
