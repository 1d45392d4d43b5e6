"""The Table services that the pipeline is tested on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shared.tables.memory.memory_tables import MemoryTables
from tests.contract.tables.table_services import key_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from shared.tables.client import TableClient


@pytest.fixture(params=["memory", "azurite"])
async def service(request: pytest.FixtureRequest) -> AsyncIterator[MemoryTables | TableClient]:
    """An empty Table service, as far as the tests' own sources go."""
    if request.param == "memory":
        yield MemoryTables()
        return
    async with key_client(request.getfixturevalue("azurite")) as client:
        yield client
