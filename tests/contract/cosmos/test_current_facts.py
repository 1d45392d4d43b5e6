"""Facts as they are now, one by one with their `_lsn` and all of them by the change feed, on real feeds with splits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from azure.cosmos.aio import CosmosClient

from shared.definitions.model import CosmosContainer, Source
from shared.entries.keys.fact_key import MISSING
from shared.errors import FactsUnavailableError
from shared.sources.current_facts import CosmosCurrentFacts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from azure.cosmos import ContainerProxy, DatabaseProxy

    from tests.contract.cosmos.conftest import Account

FOREVER = 1e12


@pytest.fixture
async def facts(account: Account) -> AsyncIterator[CosmosCurrentFacts]:
    """Reads the account under test, three facts at a time."""
    reader = CosmosCurrentFacts(lambda: CosmosClient(account.endpoint, account.key), page_items=3)
    yield reader
    await reader.close()


def source_of(database: DatabaseProxy, container: ContainerProxy, *paths: str) -> Source:
    """A source whose facts are in this container."""
    return Source("facts", cosmos=CosmosContainer(database.id, container.id), partition_key=paths or ("pk",))


async def all_ids(facts: CosmosCurrentFacts, source: Source, until_seconds: float = FOREVER) -> list[str]:
    """The ids of all facts, page by page."""
    found: list[str] = []
    cursor = None
    while True:
        page = await facts.page(source, cursor, until_seconds)
        assert all("_lsn" in document for document in page.documents)
        found += [document["id"] for document in page.documents]
        cursor = page.cursor
        if cursor is None:
            return sorted(found)


@pytest.mark.parametrize("value", ["text", "", 12, 0.5, True, None, MISSING])
async def test_a_fact_comes_from_the_feed_of_its_partition(
    facts: CosmosCurrentFacts, database: DatabaseProxy, container: ContainerProxy, value: Any
) -> None:
    """In its newest version, with the sequence number that a point read does not have."""
    key = {} if value is MISSING else {"pk": value}
    for number in range(3):
        container.upsert_item({"id": "1", "n": number, **key})
        container.upsert_item({"id": "2", "n": number, **key})
    container.create_item({"id": "1", "pk": "other", "n": 9})
    source = source_of(database, container)
    read = await facts.read(source, "1", (value,))
    assert read is not None
    found = await facts.from_feed(source, "1", (value,), read["_ts"])
    assert found is not None
    assert (found["n"], found["_etag"]) == (2, read["_etag"])
    assert isinstance(found["_lsn"], int)
    assert await facts.from_feed(source, "3", (value,), read["_ts"]) is None


async def test_a_fact_with_a_hierarchical_key(
    facts: CosmosCurrentFacts, database: DatabaseProxy, new_container: Callable[..., ContainerProxy]
) -> None:
    """All levels together."""
    container = new_container(["/tenant", "/user"])
    container.create_item({"id": "1", "tenant": "t", "user": "u"})
    container.create_item({"id": "1", "tenant": "t", "user": "v"})
    source = source_of(database, container, "tenant", "user")
    read = await facts.read(source, "1", ("t", "v"))
    assert read is not None
    found = await facts.from_feed(source, "1", ("t", "v"), read["_ts"])
    assert found is not None
    assert found["user"] == "v"


async def test_all_facts_come_once_from_all_ranges(
    facts: CosmosCurrentFacts, database: DatabaseProxy, container: ContainerProxy
) -> None:
    """Each in its newest version; those that were deleted not at all."""
    for number in range(20):
        container.create_item({"id": str(number), "pk": f"p{number}"})
    container.upsert_item({"id": "3", "pk": "p3", "changed": True})
    container.delete_item("4", "p4")
    wanted = sorted(str(number) for number in range(20) if number != 4)
    assert await all_ids(facts, source_of(database, container)) == wanted


async def test_a_scan_ends_beside_writes(
    facts: CosmosCurrentFacts, database: DatabaseProxy, container: ContainerProxy
) -> None:
    """What was changed after its beginning may be left out: it is looked at again anyway."""
    for number in range(5):
        container.create_item({"id": str(number), "pk": "p"})
    assert await all_ids(facts, source_of(database, container), until_seconds=0) == []


async def test_in_a_container_that_is_not_there_no_fact_is_gone(
    facts: CosmosCurrentFacts, database: DatabaseProxy, new_container: Callable[..., ContainerProxy]
) -> None:
    """Otherwise a wrong setting would look like a container whose facts were all deleted."""
    source = source_of(database, new_container())
    nowhere = replace(source, cosmos=CosmosContainer(database.id, "nowhere"))
    with pytest.raises(FactsUnavailableError):
        await facts.read(nowhere, "1", ("p",))
    with pytest.raises(FactsUnavailableError):
        await facts.page(nowhere, None, FOREVER)
    assert await facts.read(source, "1", ("p",)) is None
