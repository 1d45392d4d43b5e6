"""All facts of a container are read through its change feed, by range, and reading goes on where another stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from azure.cosmos.aio import CosmosClient

from shared.definitions.model import CosmosContainer, Source
from shared.errors import FactsUnavailableError
from shared.sources.cosmos_feed import CosmosFeed
from tests.contract.cosmos.test_facts import source_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from azure.cosmos import ContainerProxy, DatabaseProxy

    from tests.contract.cosmos.conftest import Account
    from tests.contract.cosmos.server import LocalCosmos


@pytest.fixture
async def feed(account: Account) -> AsyncIterator[CosmosFeed]:
    """Reads feeds of the account under test, seven facts at a time."""
    feed = CosmosFeed(lambda: CosmosClient(account.endpoint, account.key), page_items=7)
    yield feed
    await feed.close()


async def test_every_fact_comes_once_with_its_clock(
    feed: CosmosFeed, database: DatabaseProxy, new_container: Callable[..., ContainerProxy]
) -> None:
    """Over all ranges together, in pages."""
    container = new_container()
    for number in range(30):
        container.create_item({"id": str(number), "pk": f"p{number}"})
    source = source_of(database, container)
    found = []
    for feed_range in await feed.ranges(source):
        async for page in feed.pages(source, feed_range):
            assert 0 < len(page.documents) <= 7
            found += page.documents
    assert sorted(int(one["id"]) for one in found) == list(range(30))
    assert all(one["_lsn"] > 0 and one["_ts"] > 0 and one["_etag"] for one in found)


async def test_reading_goes_on_after_a_continuation(
    feed: CosmosFeed, database: DatabaseProxy, new_container: Callable[..., ContainerProxy]
) -> None:
    """By another reader; what changed meanwhile comes in its newer version."""
    container = new_container()
    for number in range(20):
        container.create_item({"id": str(number), "pk": "p"})
    source = source_of(database, container)
    seen = []
    for feed_range in await feed.ranges(source):
        first = await anext(feed.pages(source, feed_range), None)
        if first is None:
            continue
        container.upsert_item({**first.documents[0], "changed": True})
        rest = [page async for page in feed.pages(source, feed_range, first.continuation)]
        documents = [one for page in rest for one in page.documents]
        assert {one["id"] for one in documents if one.get("changed")} == {first.documents[0]["id"]}
        seen += [one["id"] for one in first.documents + documents if not one.get("changed")]
    assert sorted(map(int, seen)) == list(range(20))


async def test_a_range_that_splits_before_it_is_read_is_read_whole(
    feed: CosmosFeed, database: DatabaseProxy, new_container: Callable[..., ContainerProxy], local_cosmos: LocalCosmos
) -> None:
    """Page by page, each by another reader; also what changes in a child that was read to its end."""
    container = new_container()
    for number in range(60):
        container.create_item({"id": str(number), "pk": f"p{number}"})
    source = source_of(database, container)
    ranges = await feed.ranges(source)
    for name in ("0", "1", "2", "3"):
        local_cosmos.order(kind="split", container=f"dbs/{database.id}/colls/{container.id}", range=name)
    seen: list[str] = []
    continuations: list[tuple[str, str]] = []
    for feed_range in ranges:
        page = await anext(feed.pages(source, feed_range), None)
        while page is not None:
            seen += [document["id"] for document in page.documents]
            last = (feed_range, page.continuation)
            page = await anext(feed.pages(source, *last), None)
        continuations.append(last)
    assert sorted(map(int, seen)) == list(range(60))
    for number in range(60, 120):
        container.create_item({"id": str(number), "pk": f"p{number}"})
    later = [
        one["id"] for place in continuations async for page in feed.pages(source, *place) for one in page.documents
    ]
    assert sorted(map(int, later)) == list(range(60, 120))


async def test_a_container_that_is_not_there_is_told(feed: CosmosFeed, database: DatabaseProxy) -> None:
    """As something to try again: it may be made yet."""
    source = Source("facts", cosmos=CosmosContainer(database.id, "missing"), partition_key=("pk",))
    with pytest.raises(FactsUnavailableError, match='source "facts"'):
        await feed.ranges(source)
