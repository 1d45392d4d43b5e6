"""The services behind an app that looks things up: storage with index tables, Cosmos DB with the facts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from azure.cosmos import CosmosClient, PartitionKey

from local.run.azurite import connection_string
from tests.conftest import running_azurite
from tests.contract.cosmos.server import LocalCosmos
from tests.contract.tables.table_services import key_client
from tests.functions.cosmos_shop import Shop, shop_on
from tests.worlds.lookup_facts import CUSTOMERS, YAML, facts, put_facts

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def lookup_azurite() -> Iterator[str]:
    """Storage for lookups alone: other tests have facts of sources with the same names."""
    with running_azurite() as storage_ports:
        yield connection_string(storage_ports)


@pytest.fixture(scope="session")
def lookup_settings(lookup_azurite: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The settings of an app whose tables and containers hold the facts of `lookup_facts`."""
    folder = tmp_path_factory.mktemp("lookups")
    (folder / "indexes.yaml").write_text(YAML)

    async def fill_tables() -> None:
        async with key_client(lookup_azurite) as tables:
            await put_facts(tables, facts())

    asyncio.run(fill_tables())
    cosmos = LocalCosmos(folder / "cosmos").start()
    _fill_container(cosmos)
    yield {
        "AzureWebJobsStorage": lookup_azurite,
        "INDEX_STORAGE": lookup_azurite,
        "INDEX_DEFINITIONS": str(folder / "indexes.yaml"),
        "COSMOS": f"AccountEndpoint={cosmos.endpoint}/;AccountKey={cosmos.key};",
    }
    cosmos.stop()


def _fill_container(cosmos: LocalCosmos) -> None:
    """All customers; the index still has entries of three that have changed since: gone, moved, and deleted softly."""
    with CosmosClient(cosmos.endpoint, cosmos.key) as client:
        container = client.create_database("shop").create_container("customers", PartitionKey("/customerId"))
        for customer in CUSTOMERS:
            container.upsert_item(customer)
        container.delete_item("2", partition_key="c-2")
        container.upsert_item({**CUSTOMERS[2], "town": "Oslo"})
        container.upsert_item({**CUSTOMERS[3], "isDeleted": True})
        container.upsert_item({**CUSTOMERS[4], "phone": "new"})


@pytest.fixture(scope="session")
def shop_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCosmos]:
    """One server for the tests that do not kill it."""
    running = LocalCosmos(tmp_path_factory.mktemp("cosmos")).start()
    yield running
    running.stop()


@pytest.fixture
def shop(shop_server: LocalCosmos) -> Shop:
    """A container of this test's own, whose changes are watched."""
    return shop_on(shop_server)
