"""A changed definition is served by its old generation; a new index on facts that are there is still building."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import requests
from azure.cosmos import CosmosClient

from cli.main import main
from tests.e2e import runs
from tests.support import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

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
    """Nothing is lost, nothing is half there; the new index says from the first request on that it is building."""
    file = tmp_path / "indexes.yaml"
    arguments = ("--definitions", str(file))
    file.write_text(DEFINITIONS.replace("PROJECTED", "phone"))
    with runs.ready(tmp_path / "data", *arguments) as (_, found):
        write(found, {"id": "1", "team": "t", "town": "Lund", "name": "A", "phone": "1", "email": "e"})
        wait_until(lambda: entries(found) == {"1": {"phone": "1"}}, "the fact is indexed")
    file.write_text(DEFINITIONS.replace("PROJECTED", "email") + ADDED)
    with runs.ready(tmp_path / "data", *arguments) as (_, found):
        assert get(found, "by-name/entries?name=A").json()["code"] == "IndexBuilding"
        write(found, {"id": "2", "team": "t", "town": "Lund", "name": "B", "phone": "2", "email": "e"})
        wait_until(lambda: len(entries(found)) == 2, "a fact that came after the change")
        assert entries(found) == {"1": {"phone": "1"}, "2": {"phone": "2"}}
        assert get(found, "by-name/entries?name=A").json()["code"] == "IndexBuilding"


def standing(found: dict[str, Any], index: str) -> dict[str, Any]:
    """How an index stands."""
    state: dict[str, Any] = get(found, f"{index}/builds").json()
    return state


def post(found: dict[str, Any], path: str, body: dict[str, Any] | None = None) -> requests.Response:
    """An operation."""
    return requests.post(f"{found['http']}/api/indexes/{path}", json=body, timeout=30)


def test_a_changed_definition_is_built_switched_to_and_rolled_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With facts that change meanwhile; from the command line, against the app."""
    file, data = tmp_path / "indexes.yaml", tmp_path / "data"
    arguments = ("--definitions", str(file))
    file.write_text(DEFINITIONS.replace("PROJECTED", "phone"))
    with runs.ready(data, *arguments) as (_, found):
        for number in range(20):
            write(found, {"id": str(number), "team": "t", "town": "Lund", "name": "A", "phone": "1", "email": "e"})
        wait_until(lambda: len(entries(found)) == 20, "the facts are indexed")
    file.write_text(DEFINITIONS.replace("PROJECTED", "email") + ADDED)
    with runs.ready(data, *arguments) as (_, found):
        wait_until(
            lambda: get(found, "by-town/builds").json().get("build", 0) is None, "the new definition is registered"
        )
        assert post(found, "by-town/switch").json()["code"] == "NotBuilt"
        assert post(found, "by-town/builds", {"budget": 0}).json()["code"] == "BadBudget"
        assert main(["build", "by-town", "--data", str(data), "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)[0]["entries"] == 20
        assert main(["build", "by-name", "--data", str(data), "--no-wait"]) == 0
        assert post(found, "by-name/builds").json()["code"] in ("AlreadyBuilding", "NothingToBuild")
        write(found, {"id": "20", "team": "t", "town": "Lund", "name": "B", "phone": "2", "email": "f"})
        assert post(found, "by-town/switch").json()["code"] == "NotVerified"
        token = get(found, "by-town/entries?town=Lund&maxpagesize=3").json()["nextLink"]
        assert main(["switch", "by-town", "--force", "--data", str(data)]) == 0
        wait_until(lambda: entries(found).get("20") == {"email": "f"}, "the new generation serves")
        assert set(map(str, entries(found).values())) == {"{'email': 'e'}", "{'email': 'f'}"}
        assert {str(entry["data"]) for entry in requests.get(token, timeout=10).json()["value"]} == {"{'phone': '1'}"}
        assert main(["rollback", "by-town", "--data", str(data)]) == 0
        wait_until(lambda: entries(found).get("20") == {"phone": "2"}, "the old generation serves again")
        wait_until(lambda: standing(found, "by-name")["defined"]["state"] == "standby", "the new index is built", 60)
        assert "waits to be switched to" in get(found, "by-name/entries?name=A").json()["detail"]
        assert post(found, "by-name/switch", {"force": True}).status_code == 200
        wait_until(lambda: get(found, "by-name/entries?name=A").status_code == 200, "the new index serves")
        assert len(get(found, "by-name/entries?name=A").json()["value"]) == 20


def test_a_source_that_orders_its_facts_otherwise_is_refused_until_that_is_taken_back(tmp_path: Path) -> None:
    """The app says so and writes nothing, lookups go on, and what changed meanwhile is applied in the end."""
    file = tmp_path / "indexes.yaml"
    arguments = ("--definitions", str(file))
    before = DEFINITIONS.replace("PROJECTED", "phone")
    fact = {"id": "1", "team": "t", "town": "Lund", "name": "A", "phone": "1", "revision": 1}
    file.write_text(before)
    with runs.ready(tmp_path / "data", *arguments) as (_, found):
        write(found, fact)
        wait_until(lambda: entries(found) == {"1": {"phone": "1"}}, "the fact is indexed")
    file.write_text(before.replace("partitionKey: team", "partitionKey: team, version: revision"))
    with runs.ready(tmp_path / "data", *arguments) as (program, found):
        problem = requests.get(f"{found['http']}/api/health/ready", timeout=20).json()
        assert problem["code"] == "DefinitionsBroken"
        assert "version was 'of Cosmos DB'. Take that back" in problem["errors"][0]["detail"]
        write(found, {**fact, "phone": "2", "revision": 2})
        wait_until(lambda: "give the source a new name" in program.output, "a batch has failed")
        assert entries(found) == {"1": {"phone": "1"}}
    file.write_text(before)
    with runs.ready(tmp_path / "data", *arguments) as (_, found):
        wait_until(lambda: entries(found) == {"1": {"phone": "2"}}, "what changed meanwhile is there")
