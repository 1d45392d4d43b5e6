"""Facts are read from Cosmos DB by their whole key, a few at a time, and a failure is told as transient."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from azure.cosmos.aio import CosmosClient

from shared.definitions.model import CosmosContainer, Source
from shared.entries.keys.fact_key import MISSING
from shared.errors import FactsRefusedError, FactsUnavailableError
from shared.sources.cosmos_facts import CosmosFacts
from shared.sources.partition_key import partition_key_paths

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from azure.cosmos import ContainerProxy, DatabaseProxy

    from tests.contract.cosmos.conftest import Account
    from tests.contract.cosmos.server import LocalCosmos


@pytest.fixture
async def reader(account: Account) -> AsyncIterator[CosmosFacts]:
    """Reads facts of the account under test."""
    facts = CosmosFacts(lambda: CosmosClient(account.endpoint, account.key), reads_at_once=2)
    yield facts
    await facts.close()


def source_of(database: DatabaseProxy, container: ContainerProxy) -> Source:
    """A source whose facts are in this container."""
    return Source("facts", cosmos=CosmosContainer(database.id, container.id), partition_key=("pk",))


@pytest.mark.parametrize("value", ["text", "", 12, 0.5, True, None, MISSING])
async def test_a_fact_is_found_by_its_id_and_partition_key(
    reader: CosmosFacts, database: DatabaseProxy, new_container: Callable[..., ContainerProxy], value: Any
) -> None:
    """Of any type, also null and missing; the same id in another partition is another fact."""
    container = new_container()
    container.create_item({"id": "1", "n": 1} if value is MISSING else {"id": "1", "pk": value, "n": 1})
    container.create_item({"id": "1", "pk": "other", "n": 2})
    source = source_of(database, container)
    found = await reader.read(source, "1", (value,))
    assert found is not None
    assert found["n"] == 1
    assert await reader.read(source, "2", (value,)) is None


async def test_a_fact_is_found_by_a_hierarchical_key(
    reader: CosmosFacts, database: DatabaseProxy, new_container: Callable[..., ContainerProxy]
) -> None:
    """All levels together."""
    container = new_container(["/tenant", "/user"])
    container.create_item({"id": "1", "tenant": "t", "user": "u"})
    source = replace(source_of(database, container), partition_key=("tenant", "user"))
    assert await reader.read(source, "1", ("t", "u")) is not None
    assert await reader.read(source, "1", ("t", "v")) is None


async def test_a_container_with_another_partition_key_has_not_lost_its_facts(
    reader: CosmosFacts, database: DatabaseProxy, new_container: Callable[..., ContainerProxy]
) -> None:
    """Otherwise a wrong definition would look like facts that were all deleted."""
    container = new_container("/tenant/id")
    container.create_item({"id": "1", "pk": "p", "tenant": {"id": "t"}})
    source = source_of(database, container)
    with pytest.raises(FactsRefusedError, match="partitioned by /tenant/id, its definition says /pk"):
        await reader.read(source, "1", ("p",))
    right = replace(source, partition_key=("tenant.id",))
    assert await reader.read(right, "1", ("t",)) is not None
    assert await reader.read(right, "2", ("t",)) is None


@pytest.mark.parametrize(
    ("path", "facts_key"), [('"Major Genre"', "Major Genre"), ('"it\'s"', "it's"), (r'"5\" disk"', '5" disk')]
)
async def test_a_partition_key_with_a_name_in_quotes_agrees(
    reader: CosmosFacts,
    database: DatabaseProxy,
    new_container: Callable[..., ContainerProxy],
    path: str,
    facts_key: str,
) -> None:
    """Cosmos DB takes names that are no words only in quotes, as JMESPath does."""
    declared = replace(source_of(database, new_container()), partition_key=(path,))
    container = new_container(*partition_key_paths(declared))
    container.create_item({"id": "1", facts_key: "p"})
    source = replace(source_of(database, container), partition_key=(path,))
    found = await reader.read(source, "1", ("p",))
    assert found is not None
    assert found[facts_key] == "p"


@pytest.mark.parametrize("fact_id", [".", ".."])
async def test_an_id_that_no_address_can_hold_is_found(
    reader: CosmosFacts, database: DatabaseProxy, new_container: Callable[..., ContainerProxy], fact_id: str
) -> None:
    """Such a fact can be created; its address would be that of something else."""
    container = new_container()
    container.create_item({"id": fact_id, "pk": "p", "n": 1})
    found = await reader.read(source_of(database, container), fact_id, ("p",))
    assert found is not None
    assert found["n"] == 1
    assert await reader.read(source_of(database, container), fact_id, ("q",)) is None


async def test_many_facts_are_read_at_once(
    reader: CosmosFacts, database: DatabaseProxy, new_container: Callable[..., ContainerProxy]
) -> None:
    """More than the reader has in flight."""
    container = new_container()
    for number in range(10):
        container.create_item({"id": str(number), "pk": "p"})
    source = source_of(database, container)
    found = await asyncio.gather(*(reader.read(source, str(number), ("p",)) for number in range(12)))
    assert [fact and fact["id"] for fact in found] == [*map(str, range(10)), None, None]


@pytest.mark.parametrize(
    ("status", "error", "text"),
    [(412, FactsUnavailableError, "without expand=fact"), (403, FactsRefusedError, "check that the app may read")],
)
async def test_what_may_pass_is_told_apart_from_what_will_not(
    reader: CosmosFacts,
    database: DatabaseProxy,
    new_container: Callable[..., ContainerProxy],
    local_cosmos: LocalCosmos,
    status: int,
    error: type[Exception],
    text: str,
) -> None:
    """A verification goes on with the one and ends with the other."""
    container = new_container()
    source = source_of(database, container)
    assert await reader.read(source, "1", ("p",)) is None
    local_cosmos.order(kind="refuse", status=status, times=1, method="GET", path="/docs")
    with pytest.raises(error, match=text):
        await reader.read(source, "1", ("p",))
