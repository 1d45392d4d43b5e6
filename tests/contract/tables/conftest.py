"""Fixtures of the contract suites: every implementation of the Table port."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shared.tables.memory.memory_tables import MemoryTables
from tests.conftest import running_azurite
from tests.contract.tables.table_services import SelfMadeCredential, key_client, make_certificate, token_client

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Iterator

    from local.run.azurite import StoragePorts
    from shared.tables.client import TableClient


@pytest.fixture(scope="session")
def secure_azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StoragePorts, ssl.SSLContext]]:
    """A real Azurite over https that takes bearer tokens, and the context that trusts it."""
    tls, context = make_certificate(tmp_path_factory.mktemp("certificate"))
    with running_azurite(tls) as ports:
        yield ports, context


@pytest.fixture(params=["memory", "key", "token"])
async def tables(request: pytest.FixtureRequest) -> AsyncIterator[MemoryTables | TableClient]:
    """Each implementation of the port in turn."""
    if request.param == "memory":
        yield MemoryTables()
    elif request.param == "key":
        async with key_client(request.getfixturevalue("azurite")) as client:
            yield client
    else:
        ports, context = request.getfixturevalue("secure_azurite")
        async with token_client(ports, context, SelfMadeCredential()) as client:
            yield client


@pytest.fixture
async def table(tables: MemoryTables | TableClient, table_name: str) -> str:
    """A new, empty table."""
    await tables.create_table(table_name)
    return table_name
