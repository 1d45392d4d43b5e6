"""The TypeScript client: compiled strictly, and run by node's own tests against a local run."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest
from azure.cosmos import CosmosClient

from tests.clients.conftest import IN_REDMOND
from tests.clients.node import FOLDER, compile_typescript, node

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clients.conftest import ClientRun


@pytest.fixture
def item(client_run: ClientRun) -> dict[str, str]:
    """What Cosmos DB answers to a write."""
    customer = {"id": "ts", "customerId": "ts", "town": "Scriptville", "lastName": "T", "firstName": "S"}
    with CosmosClient(client_run.cosmos["endpoint"], client_run.cosmos["key"]) as client:
        container = client.get_database_client("shop").get_container_client("customers")
        return dict(container.upsert_item(customer))


def test_the_client_does_what_its_tests_say(
    client_run: ClientRun, item: dict[str, str], typescript_client: Path, tmp_path: Path
) -> None:
    """Each in a test of node's."""
    shutil.copy(FOLDER / "programs/client.test.ts", tmp_path)
    compile_typescript(tmp_path, ["client.test.ts"], client=typescript_client, types=["node"], noEmit=False)
    told = {"URL": client_run.url, "KEY": client_run.key, "IN_REDMOND": str(len(IN_REDMOND)), "ITEM": json.dumps(item)}
    output = node("--test", "client.test.js", folder=tmp_path, environment={**os.environ, **told})
    assert "# fail 0" in output
    assert "# pass 18" in output
