"""Partial updates and transactional batches through the synchronous SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from azure.cosmos import exceptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from azure.cosmos import ContainerProxy

START = {"id": "a", "pk": "p", "n": 1, "list": [1, 2, 3], "inner": {"x": "y"}, "gone": True}


@pytest.mark.parametrize(
    ("operation", "field", "expected"),
    [
        ({"op": "add", "path": "/new", "value": 5}, "new", 5),
        ({"op": "add", "path": "/list/1", "value": 9}, "list", [1, 9, 2, 3]),
        ({"op": "add", "path": "/list/-", "value": 9}, "list", [1, 2, 3, 9]),
        ({"op": "set", "path": "/list/1", "value": 9}, "list", [1, 9, 3]),
        ({"op": "set", "path": "/inner/z", "value": None}, "inner", {"x": "y", "z": None}),
        ({"op": "replace", "path": "/inner/x", "value": "q"}, "inner", {"x": "q"}),
        ({"op": "remove", "path": "/list/0"}, "list", [2, 3]),
        ({"op": "incr", "path": "/n", "value": 2.5}, "n", 3.5),
        ({"op": "incr", "path": "/fresh", "value": 7}, "fresh", 7),
        ({"op": "move", "from": "/inner/x", "path": "/moved"}, "moved", "y"),
    ],
)
def test_each_patch_operation_changes_its_field(
    container: ContainerProxy, operation: dict[str, Any], field: str, expected: Any
) -> None:
    """The answer and the stored item show the change."""
    container.create_item(dict(START))
    assert container.patch_item("a", "p", [operation])[field] == expected
    assert container.read_item("a", "p")[field] == expected


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "path": "/missing", "value": 1},
        {"op": "remove", "path": "/missing"},
        {"op": "add", "path": "/missing/deeper", "value": 1},
        {"op": "add", "path": "/list/7", "value": 1},
        {"op": "incr", "path": "/inner", "value": 1},
        {"op": "set", "path": "/id", "value": "b"},
        {"op": "set", "path": "/pk", "value": "q"},
        {"op": "set", "path": "no-slash", "value": 1},
        {"op": "explode", "path": "/n", "value": 1},
    ],
)
def test_a_patch_that_cannot_be_applied_changes_nothing(container: ContainerProxy, operation: dict[str, Any]) -> None:
    """One bad operation refuses the patch as a whole, with 400."""
    before = container.create_item(dict(START))
    with pytest.raises(exceptions.CosmosHttpResponseError) as refusal:
        container.patch_item("a", "p", [{"op": "set", "path": "/n", "value": 99}, operation])
    assert refusal.value.status_code == 400
    assert container.read_item("a", "p") == before


def test_a_patch_happens_only_when_its_condition_holds(container: ContainerProxy) -> None:
    """A condition that does not hold answers 412."""
    container.create_item(dict(START))
    change = [{"op": "set", "path": "/n", "value": 2}]
    container.patch_item("a", "p", change, filter_predicate="from c where c.n = 1")
    with pytest.raises(exceptions.CosmosAccessConditionFailedError):
        container.patch_item("a", "p", change, filter_predicate="from c where c.n = 1")


def test_a_bad_condition_is_refused_with_its_place(container: ContainerProxy, local_cosmos: object) -> None:
    """The position counts in the condition as it was written."""
    container.create_item(dict(START))
    change = [{"op": "set", "path": "/n", "value": 2}]
    with pytest.raises(exceptions.CosmosHttpResponseError) as refusal:
        container.patch_item("a", "p", change, filter_predicate="from c where c.n ==")
    assert refusal.value.status_code == 400
    assert "position 18:" in str(refusal.value.message)


def test_a_batch_does_every_kind_of_operation(container: ContainerProxy) -> None:
    """Operations see what earlier ones of their batch did; each has its own status."""
    container.create_item({"id": "old", "pk": "p", "n": 1})
    results = container.execute_item_batch(
        [
            ("create", ({"id": "new", "pk": "p"},)),
            ("upsert", ({"id": "up", "pk": "p"},)),
            ("replace", ("old", {"id": "old", "pk": "p", "n": 2})),
            ("patch", ("old", [{"op": "incr", "path": "/n", "value": 5}])),
            ("read", ("old",)),
            ("delete", ("new",)),
        ],
        partition_key="p",
    )
    assert [result["statusCode"] for result in results] == [201, 201, 200, 200, 200, 204]
    assert results[4]["resourceBody"]["n"] == 7
    assert sorted(each["id"] for each in container.read_all_items()) == ["old", "up"]


def test_a_failing_batch_leaves_no_trace(container: ContainerProxy) -> None:
    """The failing operation has its own status, all others 424, and nothing is stored or in the feed."""
    container.create_item({"id": "taken", "pk": "p"})
    with pytest.raises(exceptions.CosmosBatchOperationError) as refusal:
        container.execute_item_batch(
            [
                ("create", ({"id": "a", "pk": "p"},)),
                ("create", ({"id": "taken", "pk": "p"},)),
                ("create", ({"id": "b", "pk": "p"},)),
            ],
            partition_key="p",
        )
    assert refusal.value.error_index == 1
    assert [each["statusCode"] for each in refusal.value.operation_responses] == [424, 409, 424]
    assert [each["id"] for each in container.query_items_change_feed(start_time="Beginning")] == ["taken"]


def test_a_batch_honours_etags(container: ContainerProxy) -> None:
    """A stale ETag inside a batch fails it with 412."""
    old = container.create_item({"id": "a", "pk": "p"})
    container.upsert_item({"id": "a", "pk": "p", "n": 1})
    replace = ("replace", ("a", {"id": "a", "pk": "p"}), {"if_match_etag": old["_etag"]})
    with pytest.raises(exceptions.CosmosBatchOperationError) as refusal:
        container.execute_item_batch([replace], partition_key="p")
    assert refusal.value.status_code == 412


def test_a_batch_has_at_most_a_hundred_operations(container: ContainerProxy) -> None:
    """The service's limit, answered with 400."""
    many: list[Any] = [("create", ({"id": str(i), "pk": "p"},)) for i in range(101)]
    with pytest.raises(exceptions.CosmosHttpResponseError) as refusal:
        container.execute_item_batch(many, partition_key="p")
    assert refusal.value.status_code == 400
    assert "Batch request has more operations than what is supported." in str(refusal.value)
    assert len(container.execute_item_batch(many[:100], partition_key="p")) == 100
    with pytest.raises(exceptions.CosmosHttpResponseError, match=r"Batch request has no operations\."):
        container.execute_item_batch([], partition_key="p")


def test_a_batch_and_a_read_say_how_far_their_range_has_come(container: ContainerProxy) -> None:
    """Clients take their session from it; an item's own number stands beside that of its range."""
    first = headers_of(container.create_item({"id": "a", "pk": "p"}))
    second = headers_of(container.create_item({"id": "b", "pk": "p"}))
    read = headers_of(container.read_item("a", "p"))
    assert (read["lsn"], read["x-ms-item-lsn"]) == (second["lsn"], first["lsn"])
    batch = headers_of(container.execute_item_batch([("upsert", ({"id": "a", "pk": "p"},))], partition_key="p"))
    assert int(batch["lsn"]) == int(second["lsn"]) + 1
    range_id = second["x-ms-documentdb-partitionkeyrangeid"]
    assert batch["x-ms-documentdb-partitionkeyrangeid"] == range_id
    assert batch["x-ms-session-token"] == f"{range_id}:-1#{batch['lsn']}"


def headers_of(answer: Any) -> dict[str, str]:
    """The headers that the SDK keeps with a result."""
    return {name.lower(): value for name, value in answer.get_response_headers().items()}


def test_a_batch_needs_every_level_of_its_partition_key(new_container: Callable[..., ContainerProxy]) -> None:
    """In the words of the service."""
    with pytest.raises(exceptions.CosmosHttpResponseError) as refusal:
        new_container(["/state", "/city"]).execute_item_batch([("read", ("a",))], partition_key=["WA"])
    assert refusal.value.status_code == 400
    assert "doesn't correspond to definition in the collection" in str(refusal.value)
