"""Items through the synchronous SDK: reading and writing them, conditions and refusals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from azure.core import MatchConditions
from azure.cosmos import PartitionKey, exceptions
from azure.cosmos.partition_key import NonePartitionKeyValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from azure.cosmos import ContainerProxy, CosmosClient, DatabaseProxy

SYSTEM = {"_rid", "_self", "_etag", "_attachments", "_ts"}


def test_a_created_item_is_read_back_with_system_properties(container: ContainerProxy) -> None:
    """What is stored comes back unchanged, plus the five system properties."""
    document = {"id": "a", "pk": "p", "nested": {"list": [1, 2.5, None, True, "ü😀"]}, "empty": {}}
    container.create_item(dict(document))
    found = container.read_item("a", "p")
    assert {name: value for name, value in found.items() if name not in SYSTEM} == document
    assert set(found) >= SYSTEM


def test_a_second_create_conflicts(container: ContainerProxy) -> None:
    """An id is unique within its partition key, and only there."""
    container.create_item({"id": "a", "pk": "p"})
    container.create_item({"id": "a", "pk": "q"})
    with pytest.raises(exceptions.CosmosResourceExistsError):
        container.create_item({"id": "a", "pk": "p"})


def test_a_missing_item_is_not_found(container: ContainerProxy) -> None:
    """Reading, replacing, patching and deleting what is not there answers 404 with sub-status 0."""
    attempts: list[Callable[[], Any]] = [
        lambda: container.read_item("a", "p"),
        lambda: container.replace_item("a", {"id": "a", "pk": "p"}),
        lambda: container.patch_item("a", "p", [{"op": "set", "path": "/x", "value": 1}]),
        lambda: container.delete_item("a", "p"),
    ]
    for attempt in attempts:
        with pytest.raises(exceptions.CosmosResourceNotFoundError) as refusal:
            attempt()
        assert refusal.value.sub_status == 0


def test_an_upsert_creates_then_replaces(container: ContainerProxy) -> None:
    """The second upsert keeps the resource id and changes the ETag."""
    first = container.upsert_item({"id": "a", "pk": "p", "n": 1})
    second = container.upsert_item({"id": "a", "pk": "p", "n": 2})
    assert first["_rid"] == second["_rid"]
    assert first["_etag"] != second["_etag"]
    assert container.read_item("a", "p")["n"] == 2


def test_a_stale_etag_stops_a_replace_and_a_delete(container: ContainerProxy) -> None:
    """If-Match with an old ETag answers 412, with the current one it succeeds."""
    old = container.create_item({"id": "a", "pk": "p"})
    new = container.replace_item("a", {"id": "a", "pk": "p", "n": 2})
    match = MatchConditions.IfNotModified
    with pytest.raises(exceptions.CosmosAccessConditionFailedError):
        container.replace_item("a", {"id": "a", "pk": "p"}, etag=old["_etag"], match_condition=match)
    with pytest.raises(exceptions.CosmosAccessConditionFailedError):
        container.delete_item("a", "p", etag=old["_etag"], match_condition=match)
    container.delete_item("a", "p", etag=new["_etag"], match_condition=match)
    with pytest.raises(exceptions.CosmosResourceNotFoundError):
        container.read_item("a", "p")


def test_an_item_can_be_addressed_by_its_own_link(container: ContainerProxy) -> None:
    """The SDK addresses a document that it is given by `_self`, which is made of resource ids."""
    document = container.create_item({"id": "a", "pk": "p", "n": 1})
    assert container.read_item(document, "p")["n"] == 1
    replaced = container.replace_item(document, {"id": "a", "pk": "p", "n": 2})
    assert replaced["n"] == 2
    container.delete_item(replaced, "p")
    assert list(container.read_all_items()) == []


@pytest.mark.parametrize("item_id", ["with space", "ümläut", "a%20b", "a+b&c=d", "😀", "a.b~c'd\"e", "x" * 255])
def test_unusual_ids_survive_the_path(container: ContainerProxy, item_id: str) -> None:
    """Ids are quoted in paths and signed unquoted."""
    container.create_item({"id": item_id, "pk": item_id})
    assert container.read_item(item_id, item_id)["id"] == item_id
    container.delete_item(item_id, item_id)


@pytest.mark.parametrize("value", ["text", "", 1, 1.5, -0.0, 2**53, True, False, None])
def test_partition_keys_may_be_of_every_scalar_type(container: ContainerProxy, value: Any) -> None:
    """A key value finds its item again, whatever its type."""
    container.create_item({"id": "a", "pk": value})
    assert container.read_item("a", value)["pk"] == value


def test_true_and_one_are_different_partition_keys(container: ContainerProxy) -> None:
    """Python calls them equal; JSON does not."""
    container.create_item({"id": "a", "pk": True, "is": "boolean"})
    container.create_item({"id": "a", "pk": 1, "is": "number"})
    assert container.read_item("a", True)["is"] == "boolean"
    assert container.read_item("a", 1)["is"] == "number"


def test_an_item_without_a_partition_key_value_is_kept(container: ContainerProxy) -> None:
    """A missing value is a value of its own."""
    container.create_item({"id": "a"})
    assert container.read_item("a", NonePartitionKeyValue)["id"] == "a"


def test_hierarchical_keys_address_whole_and_by_prefix(
    new_container: Callable[..., ContainerProxy],
) -> None:
    """A point operation needs all levels; a query may name the first ones."""
    container = new_container(["/tenant", "/user", "/session"])
    for tenant, user, session in (("t1", "u1", "s1"), ("t1", "u2", "s1"), ("t2", "u1", "s1")):
        key = [tenant, user, session]
        container.create_item({"id": "-".join(key), "tenant": tenant, "user": user, "session": session})
    assert container.read_item("t1-u2-s1", ["t1", "u2", "s1"])["user"] == "u2"
    found: Any = container.query_items("SELECT VALUE c.id FROM c", partition_key=["t1"])
    assert sorted(found) == ["t1-u1-s1", "t1-u2-s1"]
    found = container.query_items("SELECT VALUE c.id FROM c", partition_key=["t1", "u1"])
    assert list(found) == ["t1-u1-s1"]


def test_a_write_can_leave_out_the_answer(container: ContainerProxy) -> None:
    """`no_response` stores the item and sends nothing back."""
    assert not container.create_item({"id": "a", "pk": "p"}, no_response=True)
    assert container.read_item("a", "p")["id"] == "a"


def test_a_document_over_two_megabytes_is_too_large(container: ContainerProxy) -> None:
    """2 MB of the bytes that are sent, where the SDK escapes: just below is stored, above answers 413."""
    container.create_item({"id": "a", "pk": "p", "text": "x" * (2 * 1024 * 1024 - 1000)})
    container.create_item({"id": "wide", "pk": "p", "text": "я" * (2 * 1024 * 1024 // 6 - 1000)})
    for text in ("x" * (2 * 1024 * 1024), "я" * (2 * 1024 * 1024 // 6)):
        with pytest.raises(exceptions.CosmosHttpResponseError) as refusal:
            container.create_item({"id": "b", "pk": "p", "text": text})
        assert refusal.value.status_code == 413


@pytest.mark.parametrize(
    "document",
    [
        {"id": "", "pk": "p"},
        {"id": "x" * 1024, "pk": "p"},
        {"id": "a", "pk": {"no": "scalar"}},
        {"id": "a", "pk": "p", "ttl": "soon"},
    ],
)
def test_documents_that_cannot_be_stored_are_bad_requests(container: ContainerProxy, document: dict[str, Any]) -> None:
    """An id, key or time to live outside the rules answers 400."""
    with pytest.raises(exceptions.CosmosHttpResponseError) as refusal:
        container.create_item(document)
    assert refusal.value.status_code == 400


def test_databases_and_containers_are_made_listed_and_dropped(
    client: CosmosClient, database: DatabaseProxy, container: ContainerProxy
) -> None:
    """They conflict when made twice, can be queried, and are gone with sub-status 1003 when dropped."""
    with pytest.raises(exceptions.CosmosResourceExistsError):
        client.create_database(database.id)
    assert database.id in {each["id"] for each in client.list_databases()}
    query, parameters = "SELECT * FROM c WHERE c.id = @id", [{"name": "@id", "value": container.id}]
    found = list(database.query_containers(query=query, parameters=parameters))
    assert [each["id"] for each in found] == [container.id]
    assert container.read()["partitionKey"] == {"paths": ["/pk"], "kind": "Hash", "version": 2}
    with pytest.raises(exceptions.CosmosResourceNotFoundError) as refusal:
        database.get_container_client("missing").create_item({"id": "a", "pk": "p"})
    assert refusal.value.sub_status == 1003


def test_a_container_can_change_its_time_to_live_but_not_its_key(
    database: DatabaseProxy, container: ContainerProxy
) -> None:
    """Replacing a container keeps its resource id."""
    before = container.read()
    database.replace_container(container, PartitionKey("/pk"), default_ttl=60)
    after = container.read()
    assert (after["_rid"], after["defaultTtl"]) == (before["_rid"], 60)
    with pytest.raises(exceptions.CosmosHttpResponseError) as refusal:
        database.replace_container(container, PartitionKey("/other"))
    assert refusal.value.status_code == 400


def test_a_partition_key_has_up_to_2048_bytes(container: ContainerProxy) -> None:
    """Of its values, whatever JSON puts around them."""
    container.create_item({"id": "1", "pk": "ä" * 1024})
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        container.create_item({"id": "1", "pk": "ä" * 1024 + "a"})
    assert caught.value.status_code == 400
