"""The change feed through the synchronous SDK: every start, every scope, both modes, and range splits."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest
from azure.cosmos import exceptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from azure.cosmos import ContainerProxy

    from tests.contract.cosmos.server import LocalCosmos

ALL_VERSIONS = "AllVersionsAndDeletes"


def fill(container: ContainerProxy, first: int, count: int) -> list[str]:
    ids = [f"{i:03}" for i in range(first, first + count)]
    for i in ids:
        container.upsert_item({"id": i, "pk": f"p{i}"})
    return ids


def drain(container: ContainerProxy, **options: Any) -> tuple[list[dict[str, Any]], str]:
    """All changes there are, and the token to go on with."""
    pages: Any = container.query_items_change_feed(**options).by_page()
    changes = [change for page in pages for change in page]
    # Without any page the iterator has no token; the SDK then leaves it with the last answer.
    token = pages.continuation_token or container.client_connection.last_response_headers["etag"]
    assert isinstance(token, str)
    return changes, token


def ids_of(changes: list[dict[str, Any]]) -> list[str]:
    return sorted(change["id"] for change in changes)


def test_the_feed_gives_each_item_once_in_its_newest_version(container: ContainerProxy) -> None:
    """From the beginning, with `_ts` and `_lsn`; an update replaces the earlier version in the feed."""
    ids = fill(container, 0, 12)
    container.upsert_item({"id": "003", "pk": "p003", "n": 2})
    changes, _ = drain(container, start_time="Beginning")
    assert ids_of(changes) == ids
    assert [change.get("n") for change in changes if change["id"] == "003"] == [2]
    assert all(change["_ts"] > 0 and change["_lsn"] > 0 for change in changes)


def test_a_continuation_gives_only_what_is_newer(container: ContainerProxy) -> None:
    """Nothing twice, nothing missing, also with pages of one."""
    fill(container, 0, 10)
    changes, token = drain(container, start_time="Beginning", max_item_count=1)
    assert len(changes) == 10
    assert drain(container, continuation=token)[0] == []
    fill(container, 8, 6)
    changes, token = drain(container, continuation=token)
    assert ids_of(changes) == [f"{i:03}" for i in range(8, 14)]
    assert drain(container, continuation=token)[0] == []


def test_changes_of_one_partition_key_come_in_order(container: ContainerProxy) -> None:
    """Sequence numbers grow with every write of a logical partition."""
    for i in range(20):
        container.create_item({"id": f"{i:02}", "pk": "same"})
    changes, _ = drain(container, start_time="Beginning", max_item_count=3)
    assert [change["id"] for change in changes] == [f"{i:02}" for i in range(20)]
    assert [change["_lsn"] for change in changes] == sorted(change["_lsn"] for change in changes)


def test_now_sees_only_what_comes_after(container: ContainerProxy) -> None:
    """Starting from now skips what is there."""
    fill(container, 0, 5)
    changes, token = drain(container, start_time="Now")
    assert changes == []
    fill(container, 5, 2)
    assert ids_of(drain(container, continuation=token)[0]) == ["005", "006"]


def test_a_time_skips_what_is_older(container: ContainerProxy, local_cosmos: LocalCosmos) -> None:
    """Changes from that second on, none before it."""
    fill(container, 0, 5)
    local_cosmos.advance_clock(3600)
    fill(container, 3, 4)
    newest = container.read_item("006", "p006")["_ts"]
    moment = dt.datetime.fromtimestamp(newest - 60, dt.UTC)
    assert ids_of(drain(container, start_time=moment)[0]) == ["003", "004", "005", "006"]


def test_a_partition_key_or_a_range_narrows_the_feed(container: ContainerProxy) -> None:
    """The ranges together give every change once; a partition key gives its own."""
    ids = fill(container, 0, 30)
    by_range = [drain(container, start_time="Beginning", feed_range=each)[0] for each in container.read_feed_ranges()]
    assert ids_of([change for changes in by_range for change in changes]) == ids
    changes, token = drain(container, start_time="Beginning", partition_key="p007")
    assert ids_of(changes) == ["007"]
    fill(container, 7, 2)
    assert ids_of(drain(container, continuation=token)[0]) == ["007"]


def test_hierarchical_keys_have_feeds(new_container: Callable[..., ContainerProxy]) -> None:
    """By the whole key, and by a feed range of a key."""
    container = new_container(["/tenant", "/user"])
    for tenant in ("t1", "t2"):
        for user in ("u1", "u2"):
            container.create_item({"id": f"{tenant}{user}", "tenant": tenant, "user": user})
    assert len(drain(container, start_time="Beginning")[0]) == 4
    changes, _ = drain(container, start_time="Beginning", partition_key=["t1", "u2"])
    assert ids_of(changes) == ["t1u2"]


def test_all_versions_show_creates_replaces_and_deletes(container: ContainerProxy) -> None:
    """Each change has metadata; a delete names id and partition key and has no document."""
    _, token = drain(container, mode=ALL_VERSIONS)
    container.create_item({"id": "a", "pk": "p", "n": 1})
    container.upsert_item({"id": "a", "pk": "p", "n": 2})
    container.delete_item("a", "p")
    changes, token = drain(container, mode=ALL_VERSIONS, continuation=token)
    assert [change["metadata"]["operationType"] for change in changes] == ["create", "replace", "delete"]
    assert [change["current"].get("n") for change in changes[:2]] == [1, 2]
    removed = changes[2]
    assert not removed["current"]
    assert (removed["metadata"]["id"], removed["metadata"]["partitionKey"]) == ("a", {"pk": "p"})
    assert removed["metadata"]["previousImageLSN"] == changes[1]["metadata"]["lsn"]
    assert drain(container, mode=ALL_VERSIONS, continuation=token)[0] == []


def pages_of(container: ContainerProxy, **options: Any) -> list[list[dict[str, Any]]]:
    """The changes page by page, without empty pages."""
    pages: Any = container.query_items_change_feed(**options).by_page()
    return [changes for page in pages if (changes := list(page))]


def test_a_transactional_batch_has_one_sequence_number_and_one_page(container: ContainerProxy) -> None:
    """A page is larger than its maximum rather than cut a transaction; the next page goes on behind it."""
    container.create_item({"id": "before", "pk": "p"})
    batch = [("upsert", ({"id": f"{i:02}", "pk": "p"},)) for i in range(10)]
    container.execute_item_batch(batch, partition_key="p")
    container.create_item({"id": "after", "pk": "p"})
    pages = pages_of(container, start_time="Beginning", partition_key="p", max_item_count=3)
    assert [len(page) for page in pages] == [11, 1]
    numbers = [change["_lsn"] for page in pages for change in page]
    assert len(set(numbers[1:11])) == len({change["_ts"] for change in pages[0][1:]}) == 1
    assert numbers == sorted(numbers)
    assert len(set(numbers)) == 3
    etags = [change["_etag"] for page in pages for change in page]
    assert len(set(etags)) == 12


def test_all_versions_of_a_transactional_batch_come_in_its_order(container: ContainerProxy) -> None:
    """Several of one item, with one sequence number; the one before the batch is their previous image's."""
    _, token = drain(container, mode=ALL_VERSIONS)
    container.create_item({"id": "a", "pk": "p", "n": 1})
    batch: list[Any] = [
        ("delete", ("a",)),
        ("create", ({"id": "a", "pk": "p", "n": 2},)),
        ("replace", ("a", {"id": "a", "pk": "p", "n": 3})),
    ]
    container.execute_item_batch(batch, partition_key="p")
    container.upsert_item({"id": "a", "pk": "p", "n": 4})
    pages = pages_of(container, mode=ALL_VERSIONS, continuation=token, max_item_count=2)
    changes = [change for page in pages for change in page]
    assert [len(page) for page in pages] == [4, 1]
    assert [change["metadata"]["operationType"] for change in changes] == [
        "create",
        "delete",
        "create",
        "replace",
        "replace",
    ]
    assert [change["current"].get("n") for change in changes] == [1, None, 2, 3, 4]
    numbers = [change["metadata"]["lsn"] for change in changes]
    assert numbers[0] < numbers[1] == numbers[2] == numbers[3] < numbers[4]
    assert changes[1]["metadata"]["previousImageLSN"] == numbers[0]
    assert changes[4]["metadata"]["previousImageLSN"] == numbers[3]


def test_a_batch_that_failed_takes_no_sequence_number(container: ContainerProxy) -> None:
    """Nor does one that only reads."""
    container.create_item({"id": "a", "pk": "p"})
    with pytest.raises(exceptions.CosmosBatchOperationError):
        batch: list[Any] = [("create", ({"id": "b", "pk": "p"},)), ("create", ({"id": "a", "pk": "p"},))]
        container.execute_item_batch(batch, partition_key="p")
    container.execute_item_batch([("read", ("a",))], partition_key="p")
    container.create_item({"id": "c", "pk": "p"})
    changes, _ = drain(container, start_time="Beginning")
    assert [(change["id"], change["_lsn"]) for change in changes] == [("a", 1), ("c", 2)]


def test_a_transaction_stays_whole_after_a_split(container: ContainerProxy, local_cosmos: LocalCosmos) -> None:
    """Its partition key is in one child."""
    batch = [("upsert", ({"id": f"{i:02}", "pk": "p"},)) for i in range(5)]
    container.execute_item_batch(batch, partition_key="p")
    _, path = container.container_link.split("/", 1)
    for number in range(3):
        local_cosmos.order(kind="split", container=f"dbs/{path}", range=str(number))
    pages = pages_of(container, start_time="Beginning", partition_key="p", max_item_count=1)
    assert [len(page) for page in pages] == [5]
    assert len({change["_lsn"] for change in pages[0]}) == 1


def test_deleted_items_leave_the_latest_version_feed(container: ContainerProxy) -> None:
    """A delete is invisible there: the item is just gone."""
    fill(container, 0, 3)
    container.delete_item("001", "p001")
    assert ids_of(drain(container, start_time="Beginning")[0]) == ["000", "002"]


def test_expired_items_disappear_and_show_as_deletes(
    new_container: Callable[..., ContainerProxy], local_cosmos: LocalCosmos
) -> None:
    """The container's time to live counts unless the item has its own; -1 is never."""
    container = new_container(default_ttl=100)
    _, token = drain(container, mode=ALL_VERSIONS)
    container.create_item({"id": "default", "pk": "p"})
    container.create_item({"id": "longer", "pk": "p", "ttl": 1000})
    container.create_item({"id": "never", "pk": "p", "ttl": -1})
    local_cosmos.advance_clock(101)
    assert ids_of(list(container.read_all_items())) == ["longer", "never"]
    changes, token = drain(container, mode=ALL_VERSIONS, continuation=token)
    assert changes[-1]["metadata"]["timeToLiveExpired"] is True
    assert changes[-1]["metadata"]["id"] == "default"
    container.create_item({"id": "default", "pk": "p"})
    local_cosmos.advance_clock(2000)
    assert ids_of(drain(container, start_time="Beginning")[0]) == ["never"]


def test_without_a_default_no_item_expires(container: ContainerProxy, local_cosmos: LocalCosmos) -> None:
    """`ttl` on an item means nothing where the container has no time to live."""
    container.create_item({"id": "a", "pk": "p", "ttl": 1})
    local_cosmos.advance_clock(100)
    assert container.read_item("a", "p")["id"] == "a"


@pytest.mark.parametrize("mode", ["LatestVersion", ALL_VERSIONS])
def test_a_split_loses_nothing_and_repeats_nothing(
    container: ContainerProxy, local_cosmos: LocalCosmos, mode: str
) -> None:
    """An old continuation goes on in both children: every change once, while ranges split."""
    start: dict[str, Any] = {"start_time": "Beginning"} if mode == "LatestVersion" else {"mode": mode}
    _, token = drain(container, **start)
    seen: list[str] = []
    expected: list[str] = []
    for round_number in range(4):
        expected += fill(container, round_number * 25, 25)
        split = local_cosmos.order(kind="split", container=container.container_link, range=str(round_number))
        assert len(split["ranges"]) == 2
        expected += fill(container, 1000 + round_number * 25, 25)
        changes, token = drain(container, mode=mode, continuation=token, max_item_count=4)
        seen += ids_of([change.get("current", change) for change in changes])
    assert sorted(seen) == sorted(expected)


def test_a_reader_between_two_pages_survives_a_split(container: ContainerProxy, local_cosmos: LocalCosmos) -> None:
    """The SDK meets 410, reads the ranges again and goes on in the children."""
    ids = fill(container, 0, 60)
    pages = container.query_items_change_feed(start_time="Beginning", max_item_count=5).by_page()
    seen = list(next(pages))
    for number in range(3):
        local_cosmos.order(kind="split", container=container.container_link, range=str(number))
    seen += [change for page in pages for change in page]
    assert ids_of(seen) == ids


def test_a_query_survives_a_split(container: ContainerProxy, local_cosmos: LocalCosmos) -> None:
    """Queries by feed range and point reads find everything afterwards."""
    ids = fill(container, 0, 30)
    old_ranges = list(container.read_feed_ranges())
    local_cosmos.order(kind="split", container=container.container_link, range="1")
    found: list[Any] = []
    for each in old_ranges:
        found += container.query_items("SELECT VALUE c.id FROM c", feed_range=each)
    assert sorted(found) == ids
    assert container.read_item("029", "p029")["id"] == "029"
    assert len(list(container.read_feed_ranges(force_refresh=True))) == len(old_ranges) + 1


def test_a_recreated_container_refuses_old_continuations(
    new_container: Callable[..., ContainerProxy],
) -> None:
    """Resource ids tell two containers of one name apart."""
    one, other = new_container(), new_container()
    _, token = drain(one, start_time="Beginning")
    with pytest.raises((ValueError, exceptions.CosmosHttpResponseError)):
        drain(other, continuation=token)
