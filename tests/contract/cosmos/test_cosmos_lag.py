"""The lag of a container: what its feed has after the positions of leases, as Azure and the local host write them."""

from __future__ import annotations

import json
import time
from base64 import b64decode
from typing import TYPE_CHECKING, Any

import pytest
from azure.cosmos import PartitionKey
from azure.cosmos.aio import CosmosClient

from shared.definitions.model import CosmosContainer, Source
from shared.errors import FeedUnavailableError
from shared.monitoring.cosmos_lag import CosmosLag
from shared.sources.trigger_leases import LEASE_CONTAINER, trigger_prefix

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from azure.cosmos import ContainerProxy, DatabaseProxy

    from tests.contract.cosmos.conftest import Account
    from tests.contract.cosmos.server import LocalCosmos


ACCOUNT = "index1"


@pytest.fixture(scope="module")
def leases(database: DatabaseProxy) -> ContainerProxy:
    """The lease container."""
    return database.create_container_if_not_exists(LEASE_CONTAINER, PartitionKey("/id"))


@pytest.fixture
async def async_client(account: Account) -> AsyncIterator[CosmosClient]:
    """The account through the asynchronous SDK."""
    async with CosmosClient(account.endpoint, account.key) as client:
        yield client


def source_of(container: ContainerProxy, *, all_versions: bool = False) -> Source:
    """A source that follows this container."""
    place = CosmosContainer(container.container_link.split("/")[1], container.id)
    return Source(f"s-{container.id}", cosmos=place, partition_key=("pk",), all_versions=all_versions)


def note_all_applied(leases: ContainerProxy, source: Source, container: ContainerProxy) -> None:
    """Leases as the .NET change feed processor writes them: for each range the ETag where its feed ends now."""
    rid = container.read()["_rid"]
    arguments: dict[str, Any] = {"start_time": "Beginning"}
    if source.all_versions:
        arguments = {"start_time": "Now", "mode": "AllVersionsAndDeletes"}
    for number, feed_range in enumerate(container.read_feed_ranges()):
        for _ in container.query_items_change_feed(feed_range=feed_range, **arguments):
            pass
        token = json.loads(b64decode(container.client_connection.last_response_headers["etag"]))
        (part,) = token["continuation"]["continuation"]
        leases.upsert_item(
            {
                "id": f"{trigger_prefix(source, ACCOUNT)}127.0.0.1_dbrid_{rid}..{number}",
                "LeaseToken": str(number),
                "Owner": "somebody",
                "ContinuationToken": part["token"],
                # .NET leaves out what is usual.
                "FeedRange": {"Range": {"min": part["range"]["min"], "max": part["range"]["max"]}},
            }
        )


async def test_without_leases_the_first_change_waits(
    container: ContainerProxy, leases: ContainerProxy, async_client: CosmosClient
) -> None:
    """An empty container has no lag; afterwards it is that of the first change."""
    feed = CosmosLag(source_of(container), lambda: ACCOUNT, lambda: async_client)
    assert await feed.oldest_waiting() is None
    first = container.create_item({"id": "1", "pk": "a"})
    container.create_item({"id": "2", "pk": "b"})
    assert await feed.oldest_waiting() == first["_ts"]


async def test_leases_of_the_extension_say_what_is_applied(
    container: ContainerProxy, leases: ContainerProxy, async_client: CosmosClient
) -> None:
    """Their continuations are ETags of the feed. What comes after them waits, until they move on."""
    source = source_of(container)
    feed = CosmosLag(source, lambda: ACCOUNT, lambda: async_client)
    for number in range(20):
        container.create_item({"id": str(number), "pk": f"p{number}"})
    note_all_applied(leases, source, container)
    assert await feed.oldest_waiting() is None
    late = container.create_item({"id": "late", "pk": "p3"})
    container.create_item({"id": "later", "pk": "p4"})
    assert await feed.oldest_waiting() == late["_ts"]
    note_all_applied(leases, source, container)
    assert await feed.oldest_waiting() is None


async def test_a_lease_without_a_position_has_applied_nothing(
    container: ContainerProxy, leases: ContainerProxy, async_client: CosmosClient
) -> None:
    """The trigger has made it and not yet finished a batch."""
    source = source_of(container)
    first = container.create_item({"id": "1", "pk": "a"})
    note_all_applied(leases, source, container)
    for lease in leases.query_items(
        "SELECT * FROM c WHERE STARTSWITH(c.id, @prefix)",
        parameters=[{"name": "@prefix", "value": trigger_prefix(source, ACCOUNT)}],
        enable_cross_partition_query=True,
    ):
        leases.upsert_item({**lease, "ContinuationToken": None})
    assert await CosmosLag(source, lambda: ACCOUNT, lambda: async_client).oldest_waiting() == first["_ts"]


async def test_the_range_of_a_lease_may_have_split(
    container: ContainerProxy, leases: ContainerProxy, async_client: CosmosClient, local_cosmos: LocalCosmos
) -> None:
    """The lease still says what was applied of its children."""
    source = source_of(container)
    for number in range(20):
        container.create_item({"id": str(number), "pk": f"p{number}"})
    note_all_applied(leases, source, container)
    feed = CosmosLag(source, lambda: ACCOUNT, lambda: async_client)
    assert await feed.oldest_waiting() is None
    local_cosmos.order(kind="split", container=container.container_link, range="0")
    assert await feed.oldest_waiting() is None
    written = [container.upsert_item({"id": str(number), "pk": f"p{number}", "n": 1}) for number in range(20)]
    assert await feed.oldest_waiting() == min(item["_ts"] for item in written)


async def test_a_feed_of_all_versions_waits_for_deletes_too(
    container: ContainerProxy, leases: ContainerProxy, async_client: CosmosClient
) -> None:
    """Before it has leases nothing waits: it starts with them."""
    source = source_of(container, all_versions=True)
    feed = CosmosLag(source, lambda: ACCOUNT, lambda: async_client)
    item = container.create_item({"id": "1", "pk": "a"})
    assert await feed.oldest_waiting() is None
    note_all_applied(leases, source, container)
    assert await feed.oldest_waiting() is None
    container.delete_item("1", partition_key="a")
    waiting = await feed.oldest_waiting()
    assert waiting is not None
    assert waiting >= item["_ts"]


async def test_an_account_that_refuses_is_told(
    container: ContainerProxy, leases: ContainerProxy, async_client: CosmosClient, local_cosmos: LocalCosmos
) -> None:
    """The lag is unknown, and why."""
    feed = CosmosLag(source_of(container), lambda: ACCOUNT, lambda: async_client)
    local_cosmos.order(kind="refuse", status=403, times=1, method="GET", path="/colls")
    with pytest.raises(FeedUnavailableError, match="may read facts and leases"):
        await feed.oldest_waiting()


async def test_a_container_with_another_partition_key_is_told(
    async_client: CosmosClient, new_container: Callable[..., ContainerProxy]
) -> None:
    """The status says so before anybody misses a fact."""
    feed = CosmosLag(source_of(new_container("/tenant")), lambda: ACCOUNT, lambda: async_client)
    with pytest.raises(FeedUnavailableError, match="partitioned by /tenant, its definition says /pk"):
        await feed.oldest_waiting()


async def test_a_feed_has_moved_on_when_a_lease_is_past_changes(
    container: ContainerProxy, leases: ContainerProxy, async_client: CosmosClient
) -> None:
    """Facts alone say nothing: a feed of latest versions brings them from the beginning."""
    source = source_of(container)
    feed = CosmosLag(source, lambda: ACCOUNT, lambda: async_client)
    container.create_item({"id": "1", "pk": "a"})
    assert not await feed.has_moved_on(time.time() + 1000)
    note_all_applied(leases, source, container)
    assert await feed.has_moved_on(time.time())


async def test_a_feed_of_all_versions_has_moved_on_when_there_are_facts_from_before(
    container: ContainerProxy, async_client: CosmosClient
) -> None:
    """It starts with the present; what was written a moment ago is what it starts with."""
    feed = CosmosLag(source_of(container, all_versions=True), lambda: ACCOUNT, lambda: async_client)
    assert not await feed.has_moved_on(time.time() + 1000)
    container.create_item({"id": "1", "pk": "a"})
    assert not await feed.has_moved_on(time.time())
    assert await feed.has_moved_on(time.time() + 1000)
