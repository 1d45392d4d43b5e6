"""The account under test: the local server, or a real one that the environment names."""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.aio import CosmosClient as AsyncCosmosClient

from tests.contract.cosmos.server import LocalCosmos
from tests.contract.cosmos.wire import Wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from azure.cosmos import ContainerProxy, DatabaseProxy
    from azure.cosmos.aio import ContainerProxy as AsyncContainerProxy


@dataclass(frozen=True)
class Account:
    """Where the contract is tested; `local` is None on a real account."""

    endpoint: str
    key: str
    local: LocalCosmos | None


@pytest.fixture(scope="session")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """A real account if COSMOS_CONTRACT_ENDPOINT and COSMOS_CONTRACT_KEY name one, else a local server."""
    endpoint, key = os.environ.get("COSMOS_CONTRACT_ENDPOINT"), os.environ.get("COSMOS_CONTRACT_KEY")
    if endpoint and key:
        yield Account(endpoint, key, None)
        return
    server = LocalCosmos(tmp_path_factory.mktemp("cosmos")).start()
    yield Account(server.endpoint, server.key, server)
    assert server.stop() == 0


@pytest.fixture
def local_cosmos(account: Account) -> LocalCosmos:
    """The local server, for what no real account does on command."""
    if account.local is None:
        pytest.skip("only the local server can do this")
    return account.local


@pytest.fixture(scope="session")
def client(account: Account) -> Iterator[CosmosClient]:
    with CosmosClient(account.endpoint, account.key) as client:
        yield client


@pytest.fixture(scope="session")
def database(client: CosmosClient) -> Iterator[DatabaseProxy]:
    """A database for the whole session."""
    found = client.create_database(f"contract-{uuid.uuid4().hex[:8]}")
    yield found
    client.delete_database(found)


@pytest.fixture
def new_container(database: DatabaseProxy) -> Iterator[Callable[..., ContainerProxy]]:
    """Makes containers that end with the test; partition key `/pk` unless told otherwise."""
    made: list[ContainerProxy] = []

    def make(paths: str | list[str] = "/pk", **settings: Any) -> ContainerProxy:
        definition = PartitionKey(paths) if isinstance(paths, str) else PartitionKey(paths, kind="MultiHash")
        made.append(database.create_container(f"c-{uuid.uuid4().hex[:8]}", definition, **settings))
        return made[-1]

    yield make
    for container in made:
        database.delete_container(container)


@pytest.fixture
def container(new_container: Callable[..., ContainerProxy]) -> ContainerProxy:
    """An empty container with the partition key `/pk`."""
    return new_container()


@pytest.fixture
async def async_container(account: Account, container: ContainerProxy) -> AsyncIterator[AsyncContainerProxy]:
    """The same container through the asynchronous SDK."""
    database_id = container.container_link.split("/")[1]
    async with AsyncCosmosClient(account.endpoint, account.key) as client:
        yield client.get_database_client(database_id).get_container_client(container.id)


@pytest.fixture
def wire(local_cosmos: LocalCosmos, container: ContainerProxy) -> Wire:
    return Wire(local_cosmos.port, local_cosmos.key, f"/{container.container_link}")
