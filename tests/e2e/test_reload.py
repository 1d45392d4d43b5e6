"""A local run serves what people save: the app starts again with changed definitions, unless they are wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import requests

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
  by-town: {source: people, partition: town, project: [phone]}
"""
MORE = """
version: 1
sources:
  people: {cosmos: {database: test, container: people}, partitionKey: team}
  orders: {eventHub: orders, partitionKey: customer}
indexes:
  by-town: {source: people, partition: town, project: [email]}
  by-customer: {source: orders, partition: customer}
"""


def get(found: dict[str, Any], path: str) -> dict[str, Any]:
    """What the app answers; nothing while it starts again."""
    try:
        answer: dict[str, Any] = requests.get(f"{found['http']}/api/{path}", timeout=10).json()
    except requests.ConnectionError:
        return {}
    return answer


def entries(found: dict[str, Any], path: str) -> list[Any]:
    """What the entries of a lookup carry."""
    return [entry["data"] for entry in get(found, path).get("value", ())]


def load(folder: Path, source: str, fact: dict[str, Any]) -> None:
    """A fact, with what the command knows of the run: its address and its definitions."""
    file = folder / f"{source}.jsonl"
    file.write_text(json.dumps(fact))
    assert main(["load", str(file), "--source", source, "--data", str(folder / "data")]) == 0


def test_what_is_saved_is_served(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong definitions change nothing and are told in the status; right ones bring their hub, and `apply` waits."""
    file, data = tmp_path / "indexes.yaml", tmp_path / "data"
    file.write_text(DEFINITIONS)
    with runs.ready(data, "--definitions", str(file)) as (program, found):
        load(tmp_path, "people", {"id": "1", "team": "t", "town": "Lund", "phone": "5", "email": "e"})
        town = "indexes/by-town/entries?town=Lund"
        wait_until(lambda: entries(found, town) == [{"phone": "5"}], "the fact is indexed")
        file.write_text(DEFINITIONS.replace("partitionKey: team", "partitionKey: town"))
        wait_until(lambda: get(found, "status").get("definitionFaults", []) != [], "the fault is in the status")
        wait_until(lambda: "goes on with the previous ones" in program.output, "the fault is told")
        assert "sources.people.partitionKey" in get(found, "status")["definitionFaults"][0]
        assert found["pids"] == runs.endpoints(data)["pids"], "nothing was started again"
        assert main(["plan", "--data", str(data)]) == 1
        file.write_text(MORE)
        capsys.readouterr()
        assert main(["plan", "--data", str(data), "--format", "json"]) == 0
        because = {row["name"]: row["because"] for row in json.loads(capsys.readouterr().out)}
        assert because == {"by-town": ["project"], "by-customer": []}
        assert main(["apply", "--data", str(data), "--format", "json"]) == 0
        out, told = capsys.readouterr()
        assert "the app runs other definitions" in told
        assert {(row["index"], row["state"]) for row in json.loads(out)} == {
            ("by-town", "serving"),
            ("by-customer", "serving"),
        }
        assert entries(found, town) == [{"email": "e"}]
        load(tmp_path, "orders", {"id": "o", "customer": "c", "total": 3})
        wait_until(lambda: len(entries(found, "indexes/by-customer/entries?customer=c")) == 1, "the event is indexed")
        assert get(found, "status")["definitionFaults"] == []


def test_definitions_that_cannot_be_provided_for_are_tried_again_at_the_next_save(tmp_path: Path) -> None:
    """Until then the app goes on with those before, and nobody is told otherwise."""
    file, data = tmp_path / "indexes.yaml", tmp_path / "data"
    file.write_text(DEFINITIONS)
    has_them = "the app has the definitions of"
    with runs.ready(data, "--definitions", str(file)) as (program, found):
        refusal = {"kind": "refuse", "status": 403, "method": "GET", "path": "/colls/persons"}
        requests.post(f"{found['cosmos']['endpoint']}/_faults", json=refusal, timeout=10).raise_for_status()
        moved = DEFINITIONS.replace("container: people", "container: persons")
        file.write_text(moved)
        wait_until(lambda: "goes on with the previous definitions" in program.output, "it is told")
        wait_until(lambda: get(found, "status") != {}, "the app is back")
        assert runs.endpoints(data)["pids"]["host"] != found["pids"]["host"], "it was started again"
        assert has_them not in program.output
        file.write_text(moved)
        wait_until(lambda: has_them in program.output, "the same definitions are provided for")
