"""Index storage that was lost: nothing pretends to be an index until it is built again from the facts."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import requests
from azure.cosmos import CosmosClient

from cli.main import main
from tests.e2e import runs
from tests.support import wait_until

if TYPE_CHECKING:
    from pathlib import Path

DEFINITIONS = """\
version: 1
sources:
  people: {cosmos: {database: test, container: people}, partitionKey: team}
indexes:
  by-town: {source: people, partition: town, project: keys}
"""


def look_up(found: dict[str, Any], path: str) -> dict[str, Any]:
    """What a lookup says."""
    answer: dict[str, Any] = requests.get(f"{found['http']}/api/indexes/{path}", timeout=20).json()
    return answer


def ids(found: dict[str, Any], path: str) -> list[str]:
    """What a lookup finds."""
    return [entry["id"] for entry in look_up(found, path).get("value", ())]


def test_an_index_whose_storage_was_lost_is_building_until_it_is_built_again(tmp_path: Path) -> None:
    """The feed goes on where its leases are, which were not lost: what it brings is not all there is."""
    (tmp_path / "indexes.yaml").write_text(DEFINITIONS)
    data = tmp_path / "data"
    arguments = ("--definitions", str(tmp_path / "indexes.yaml"))
    with runs.ready(data, *arguments) as (_, found):
        database = CosmosClient(found["cosmos"]["endpoint"], found["cosmos"]["key"]).get_database_client("test")
        database.get_container_client("people").upsert_item({"id": "1", "team": "t", "town": "Lund"})
        wait_until(lambda: ids(found, "by-town/entries?town=Lund") == ["1"], "the fact is indexed")
    shutil.rmtree(data / "azurite")
    with runs.ready(data, *arguments) as (_, found):
        database = CosmosClient(found["cosmos"]["endpoint"], found["cosmos"]["key"]).get_database_client("test")
        database.get_container_client("people").upsert_item({"id": "2", "team": "t", "town": "Lund"})
        wait_until(lambda: "code" in look_up(found, "by-town/entries?town=Lund"), "the index is registered")
        assert look_up(found, "by-town/entries?town=Lund")["code"] == "IndexBuilding"
        assert main(["build", "by-town", "--data", str(data)]) == 0
        assert main(["switch", "by-town", "--force", "--data", str(data)]) == 0
        wait_until(lambda: ids(found, "by-town/entries?town=Lund") == ["1", "2"], "all facts are there", 60)
