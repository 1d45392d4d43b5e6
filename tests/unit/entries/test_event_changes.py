"""Changes from event hubs: the plain envelope, CloudEvents, contradictions, and what cannot be read."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from shared.definitions.loading.load import load
from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.changes.event_changes import EventReader
from shared.errors import UnreadableChangeError

if TYPE_CHECKING:
    from shared.entries.changes.change import Change

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
ORDER = {"id": "o-1", "customer": {"id": "c-1"}, "revision": 3, "total": 10}
DECLARED = "eventHub: orders, partitionKey: customer.id, version: revision"


def read(event: object, source: str = DECLARED, enqueued: datetime = NOON, number: int = 7) -> Change:
    """The change that an event (or a raw body) is to a source `orders`."""
    text = f"version: 1\nsources: {{orders: {{{source}}}}}\nindexes: {{}}"
    reader = EventReader(load(text).require().sources["orders"])
    body = event if isinstance(event, (bytes, str)) else json.dumps(event)
    return reader.read(body.encode() if isinstance(body, str) else body, enqueued, number)


def plain(**fields: Any) -> dict[str, Any]:
    return {"op": "upsert", "document": ORDER, **fields}


def cloud(**fields: Any) -> dict[str, Any]:
    known = {"specversion": "1.0", "id": "event-9", "source": "/shop", "type": "com.shop.order.upserted"}
    return {**known, "data": ORDER, **fields}


def test_the_plain_envelope_is_an_upsert() -> None:
    """Identity and version may all stand in the document."""
    change = read(plain())
    assert (change.source, change.id, change.partition_key) == ("orders", "o-1", ("c-1",))
    assert (change.document, change.source_etag) == (ORDER, None)
    assert change.version.startswith("3".zfill(26) + "0" * 9 + "0")


def test_a_full_envelope_needs_nothing_of_the_document() -> None:
    """Envelope values win where the document says nothing."""
    event = plain(source="orders", id="o-2", partitionKey="c-2", version=9, document={"total": 1})
    change = read(event)
    assert (change.id, change.partition_key) == ("o-2", ("c-2",))
    assert change.version.startswith("9".zfill(26))


def test_a_null_id_or_version_is_not_said() -> None:
    """Serialisers write nulls for what is not there; null as a partition key is a value."""
    assert read(plain(id=None, version=None)) == read(plain())
    assert read({"op": "delete", "id": "o-1", "partitionKey": None, "version": 1}).partition_key == (None,)


def test_a_delete_needs_no_document() -> None:
    """Only who it was and when."""
    change = read({"op": "delete", "id": "o-1", "partitionKey": "c-1", "version": 4})
    assert change.is_delete
    assert change.fact_key == read(plain()).fact_key
    assert change.version > read(plain()).version


def test_a_delete_may_carry_the_last_document() -> None:
    """It is still a delete."""
    change = read(plain(op="delete"))
    assert change.is_delete
    assert change.id == "o-1"


def test_a_cloud_event_is_a_change() -> None:
    """Subject, data and the extension attributes say what the plain envelope says."""
    event = cloud(subject="o-1", partitionkey="c-1", version=3)
    assert read(event) == read(plain())
    gone = read(cloud(type="order.deleted", subject="o-1", partitionkey="c-1", version=3, data=None))
    assert gone.is_delete


def test_a_document_may_say_that_it_is_deleted() -> None:
    """`deletes.when` holds for events too."""
    assert read(plain(document={**ORDER, "gone": True}), DECLARED + ", deletes: {when: gone}").is_delete


def test_without_a_declared_version_the_hub_is_the_clock() -> None:
    """Enqueued time, then sequence number; a naive time is UTC; a version in the envelope means nothing."""
    source = "eventHub: orders"
    earlier = read(plain(), source, NOON, 9).version
    assert (
        earlier
        < read(plain(), source, NOON, 10).version
        < read(plain(), source, NOON + timedelta(seconds=1), 1).version
    )
    assert earlier == read(plain(version=99), source, NOON.replace(tzinfo=None), 9).version


def test_both_ways_in_give_one_version() -> None:
    """A source with a container and a hub sees the same change twice, and knows it."""
    body = f"cosmos: {{database: d, container: c}}, {DECLARED}"
    source = load(f"version: 1\nsources: {{orders: {{{body}}}}}\nindexes: {{}}").require().sources["orders"]
    fed = CosmosReader(source).latest({**ORDER, "_ts": 1, "_lsn": 1, "_etag": "e"})
    assert fed.version == read(plain(), body).version
    assert fed.fact_key == read(plain(), body).fact_key


def test_a_whole_number_is_an_id() -> None:
    """As text, whether the envelope or the document says it."""
    assert read(plain(id="5", document={**ORDER, "id": 5})).id == "5"


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (b"", "is not JSON"),
        (b"\xff\xfe\x00", "is not JSON"),
        ("{", "is not JSON"),
        ('{"op":"upsert","document":{"id":"1","x":NaN}}', "NaN is not JSON"),
        ("[" * 200_000, "is not JSON"),
        ([1], "is not a JSON object"),
        ("null", "is not a JSON object"),
        ({}, '"op" is None'),
        (plain(op="insert"), "\"op\" is 'insert'"),
        (plain(op=["upsert"]), '"op" is a list of 1'),
        ({"op": "upsert"}, "the document is missing: send a JSON object"),
        (plain(source="customers"), "names the source 'customers'"),
        (plain(document=None), "the document is None"),
        (plain(document="text"), "the document is 'text'"),
        ({"op": "delete", "id": "1", "version": 1}, 'has no "partitionKey"'),
        ({"op": "delete", "partitionKey": "c", "version": 1}, 'None at "id" is not an id'),
        ({"op": "delete", "id": "1", "partitionKey": "c"}, 'None at "revision" is not a version'),
        (plain(id="other"), "the envelope says 'other' for \"id\", the document 'o-1'"),
        (plain(partitionKey="other"), 'for "partitionKey"'),
        (plain(partitionKey=["c-1", "x"]), "has 2 values, the source declares 1"),
        (plain(partitionKey={"a": 1}), 'for "partitionKey"'),
        (plain(version=4), 'the envelope says 4 for "version", the document 3'),
        (plain(version=[]), 'a list of 0 at "revision" is not a version'),
        (plain(document={**ORDER, "revision": None}), 'None at "revision" is not a version'),
        (cloud(specversion="0.3"), "CloudEvents '0.3' is not 1.0"),
        (cloud(type="order.changed"), "must end in .upserted or .deleted"),
        (cloud(subject="o-2"), 'for "id"'),
        (cloud(data=None), "the document is None"),
    ],
)
def test_an_event_that_cannot_be_read_says_why(event: object, reason: str) -> None:
    """A dead letter with a reason; never a guess, never a crash."""
    with pytest.raises(UnreadableChangeError) as caught:
        read(event)
    assert reason in str(caught.value)


def test_types_of_a_partition_key_are_part_of_it() -> None:
    """1 and 1.0 are one partition, 1 and "1" are two."""
    numbered = {**ORDER, "customer": {"id": 1}}
    assert read(plain(partitionKey=1.0, document=numbered)).partition_key == (1.0,)
    with pytest.raises(UnreadableChangeError, match="says '1' for \"partitionKey\", the document 1"):
        read(plain(partitionKey="1", document=numbered))


def test_a_partition_key_that_the_source_does_not_declare_is_refused() -> None:
    """Two facts would become one."""
    with pytest.raises(UnreadableChangeError, match="declares 0 paths"):
        read(plain(partitionKey="c-1"), "eventHub: orders")
