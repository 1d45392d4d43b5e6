"""Changes from Cosmos DB: latest version documents, all versions items, soft deletes, unreadable ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shared.definitions.loading.load import load
from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.keys.fact_key import MISSING
from shared.errors import UnreadableChangeError

SYSTEM = {"_rid": "r", "_self": "s", "_etag": '"e1"', "_attachments": "a", "_ts": 1700000000, "_lsn": 42}


def reader(body: str = "") -> CosmosReader:
    """A reader of a source whose partition key is `customerId` unless the body says otherwise."""
    key = "" if "partitionKey" in body else "partitionKey: customerId"
    parts = ", ".join(part for part in ("cosmos: {database: d, container: c}", key, body) if part)
    text = f"version: 1\nsources: {{s: {{{parts}}}}}\nindexes: {{}}"
    return CosmosReader(load(text).require().sources["s"])


def fact(**fields: Any) -> dict[str, Any]:
    return {"id": "42", "customerId": "c-1", "town": "Redmond", **SYSTEM, **fields}


def deleted(**metadata: Any) -> dict[str, Any]:
    known = {"operationType": "delete", "lsn": 50, "crts": 1700000009, "previousImageLSN": 42}
    return {
        "current": {},
        "metadata": {**known, "id": "42", "partitionKey": {"customerId": "c-1"}, **metadata},
    }


def test_a_document_of_the_feed_is_an_upsert() -> None:
    """Identity, version, mark and the document itself."""
    change = reader().latest(fact())
    assert (change.source, change.id, change.partition_key) == ("s", "42", ("c-1",))
    assert change.fact_key == "c-1 !42 !"
    assert change.version.startswith("0000001700000000" + "0000000000000000042" + "0")
    assert (change.document, change.source_etag, change.is_delete) == (fact(), '"e1"', False)


def test_versions_follow_ts_then_lsn() -> None:
    """Seconds are coarse; the log sequence number tells changes of one second apart."""
    versions = [reader().latest(fact(_ts=ts, _lsn=lsn)).version for ts, lsn in [(1, 9), (2, 1), (2, 2), (10, 0)]]
    assert versions == sorted(versions)


def test_what_cosmos_adds_is_no_part_of_the_version() -> None:
    """A feed copy and a pulled copy of one version have the same digest digits."""
    one, other = reader().latest(fact(_etag="x", _rid="y")), reader().latest(fact())
    assert one.version == other.version


def test_two_documents_of_one_clock_value_differ_in_version() -> None:
    """The digest digits see to it."""
    assert reader().latest(fact(town="Kent")).version != reader().latest(fact()).version


def test_a_soft_delete_is_a_delete_that_sorts_after_an_upsert() -> None:
    """It has no document, and wins over an upsert of the same clock value."""
    soft = reader("deletes: {when: isDeleted}")
    gone, here = soft.latest(fact(isDeleted=True)), soft.latest(fact(isDeleted=0))
    assert gone.is_delete
    assert not here.is_delete
    assert gone.version > here.version


def test_a_declared_version_replaces_the_feeds_clock() -> None:
    """Documents then need neither `_ts` nor `_lsn`."""
    declared = reader("version: revision")
    versions = [declared.latest({"id": "1", "customerId": "c", "revision": n}).version for n in (9, 10, 10.5)]
    assert versions == sorted(versions)


def test_hierarchical_keys_keep_types_and_tell_missing_from_null() -> None:
    """As Cosmos DB does."""
    levels = reader("partitionKey: [tenant, user.id, session]")
    change = levels.latest(fact(tenant=7, user={"id": None}))
    assert change.partition_key == (7, None, MISSING)


def test_an_item_of_the_all_versions_feed_is_an_upsert() -> None:
    """Its version is that of the same document in the latest version feed."""
    item = {"current": fact(), "metadata": {"operationType": "replace", "lsn": 42, "crts": 1700000000}}
    assert reader().all_versions(item).version == reader().latest(fact()).version


@pytest.mark.parametrize("current", [None, {}])
def test_a_hard_delete_names_its_fact_in_the_metadata(current: object) -> None:
    """The document is gone; id and partition key are not."""
    change = reader().all_versions({**deleted(), "current": current})
    assert change.is_delete
    assert change.fact_key == reader().latest(fact()).fact_key
    assert change.version > reader().latest(fact()).version


@pytest.mark.parametrize("given", [{"customer.id": 7}, {"/customer/id": 7}, {"customer": {"id": 7}}, [7], 7])
def test_a_hard_delete_may_spell_its_partition_key_in_several_ways(given: object) -> None:
    """All of them are the same fact."""
    nested = reader("partitionKey: customer.id")
    assert nested.all_versions(deleted(partitionKey=given)).partition_key == (7,)


# A delete of the Cosmos DB extension, byte by byte: its clock and a partition key that is a number are doubles.
DELETE_IN_AZURE = (
    '{"current":{},"metadata":{"operationType":"delete","lsn":50,"crts":1700000009.0,"previousImageLSN":42,'
    '"timeToLiveExpired":false,"id":"42","partitionKey":{"customerId":7.0}}}'
)


def test_a_hard_delete_of_the_real_extension_has_doubles() -> None:
    """They are the same clock and the same partition as the whole numbers that other ways of reading give."""
    change = reader().all_versions(json.loads(DELETE_IN_AZURE))
    assert change.version == reader().all_versions(deleted()).version
    assert change.fact_key == reader().latest(fact(customerId=7)).fact_key


def test_a_hard_delete_without_a_partition_key_value_is_of_the_none_partition() -> None:
    """Cosmos DB leaves out what the fact did not have."""
    assert reader().all_versions(deleted(partitionKey={})).partition_key == (MISSING,)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (None, "None is not a document"),
        ([1], "is not a document"),
        (fact(id=None), 'None at "id" is not an id'),
        (fact(id=""), "'' at \"id\" is not an id"),
        (fact(id=["a"]), 'a list of 1 at "id" is not an id'),
        (fact(id="\ud800"), "is not an id"),
        (fact(customerId={"a": 1}), "an object of 1 is not a partition key value"),
        (fact(customerId="\udc00"), "is not a partition key value"),
        (fact(customerId=float("nan")), "is not a partition key value"),
        (fact(_ts=None), "_ts None and _lsn 42 are not a clock"),
        (fact(_lsn="42"), "are not a clock"),
    ],
)
def test_a_document_that_cannot_be_read_says_why(document: object, reason: str) -> None:
    """One error type, which names the source."""
    with pytest.raises(UnreadableChangeError, match='source "s"') as caught:
        reader().latest(document)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("x", 'it has no "metadata"'),
        ({"current": fact()}, 'it has no "metadata"'),
        ({"current": {}, "metadata": {"operationType": "replace", "lsn": 1}}, "is not a delete"),
        (deleted(lsn=None), "are not a clock"),
        (deleted(crts=1700000009.5), "are not a clock"),
        (deleted(id=None), "is not an id"),
        (deleted(partitionKey=[1, 2]), "is not a partition key of 1 levels"),
    ],
)
def test_an_item_that_cannot_be_read_says_why(item: object, reason: str) -> None:
    """Also deletes."""
    with pytest.raises(UnreadableChangeError) as caught:
        reader().all_versions(item)
    assert reason in str(caught.value)


def test_a_declared_version_that_is_none_says_why() -> None:
    """With the path that should hold it."""
    with pytest.raises(UnreadableChangeError, match="'soon' at \"revision\" is not a version"):
        reader("version: revision").latest(fact(revision="soon"))


def test_an_expression_that_fails_makes_the_change_unreadable() -> None:
    """A poison document, not a crash."""
    with pytest.raises(UnreadableChangeError, match=r'"deletes.when" cannot be evaluated'):
        reader("deletes: {when: length(town)}").latest(fact(town=5))


def test_a_document_too_deep_to_write_is_unreadable() -> None:
    """Again a poison document, not a crash."""
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    with pytest.raises(UnreadableChangeError, match="not JSON that can be written"):
        reader().latest(fact(deep=value))
