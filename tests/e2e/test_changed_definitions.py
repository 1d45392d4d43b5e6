"""A changed definition is served by its old generation; a new index on facts that are there is still building."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import requests
from azure.cosmos import CosmosClient

from tests.e2e import runs
from tests.support import wait_until

if TYPE_CHECKING:
    from pathlib import Path

DEFINITIONS = """
version: 1
sources: {people: {cosmos: {database: test, container: people}, partitionKey: team}}
indexes:
  by-town: {source: people, partition: town, project: [PROJECTED]}
"""
ADDED = "  by-name: {source: people, partition: name, project: keys}\n"


def get(found: dict[str, Any], path: str) -> requests.Response:
    """A lookup."""
    return requests.get(f"{found['http']}/api/indexes/{path}", timeout=10)


def write(found: dict[str, Any], fact: dict[str, Any]) -> None:
    """A fact."""
    client = CosmosClient(found["cosmos"]["endpoint"], found["cosmos"]["key"])
    client.get_database_client("test").get_container_client("people").upsert_item(fact)


def entries(found: dict[str, Any]) -> dict[str, Any]:
    """What the index by town says, by id."""
    answer = get(found, "by-town/entries?town=Lund")
    return {entry["id"]: entry["data"] for entry in answer.json().get("value", ())}


def test_the_old_generation_serves_until_the_new_one_is_built(tmp_path: Path) -> None:
    """Nothing is lost, nothing is half there; the new index says that it is building."""
    file = tmp_path / "indexes.yaml"
    arguments = ("--definitions", str(file))
    file.write_text(DEFINITIONS.replace("PROJECTED", "phone"))
    with runs.ready(tmp_path / "data", *arguments) as (_, found):
        write(found, {"id": "1", "team": "t", "town": "Lund", "name": "A", "phone": "1", "email": "e"})
        wait_until(lambda: entries(found) == {"1": {"phone": "1"}}, "the fact is indexed")
    file.write_text(DEFINITIONS.replace("PROJECTED", "email") + ADDED)
    with runs.ready(tmp_path / "data", *arguments) as (_, found):
        write(found, {"id": "2", "team": "t", "town": "Lund", "name": "B", "phone": "2", "email": "e"})
        wait_until(lambda: len(entries(found)) == 2, "a fact that came after the change")
        assert entries(found) == {"1": {"phone": "1"}, "2": {"phone": "2"}}
        wait_until(lambda: get(found, "by-name/entries?name=A").status_code == 503, "the catalog knows the new index")
        assert get(found, "by-name/entries?name=A").json()["code"] == "IndexBuilding"
