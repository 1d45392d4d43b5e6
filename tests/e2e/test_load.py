"""`index-tables load` fills the containers and hubs of a local run; the samples are there from the start."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from azure.cosmos import CosmosClient

from local.emulators.eventhubs.options import connection_string
from local.process import ports
from tests.e2e import runs
from tests.e2e.outside_reader import entries
from tests.support import ROOT, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A local run with the project's own definitions and samples."""
    folder = tmp_path_factory.mktemp("load") / "data"
    with runs.ready(folder):
        yield folder


def load(run_folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command as a user calls it, in the project's folder."""
    command = [sys.executable, "-m", "cli", "load", *arguments, "--data", str(run_folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def orders(run_folder: Path) -> dict[str, dict[str, Any]]:
    """What the index of orders has, by id."""
    rows = entries(runs.endpoints(run_folder)["storage"]["connectionString"], "orders-newest-first")
    return {row["id"]: row for row in rows}


def items(run_folder: Path, container: str, where: str = "true") -> list[dict[str, Any]]:
    """Documents in a container of the run."""
    found = runs.endpoints(run_folder)["cosmos"]
    with CosmosClient(found["endpoint"], found["key"]) as client:
        proxy = client.get_database_client("shop").get_container_client(container)
        return list(proxy.query_items(f"SELECT * FROM c WHERE {where}", enable_cross_partition_query=True))


def test_the_samples_are_there(run_folder: Path) -> None:
    """Every sample fact, in the container of its source."""
    for source in ("customers", "movies"):
        lines = (ROOT / "local" / "run" / "samples" / f"{source}.jsonl").read_text().splitlines()
        expected = {json.loads(line)["id"] for line in lines}
        assert expected <= {item["id"] for item in items(run_folder, source)}


def test_the_sample_orders_arrive_as_events(run_folder: Path) -> None:
    """Every one of them is in its index."""
    lines = (ROOT / "local" / "run" / "samples" / "orders.jsonl").read_text().splitlines()
    expected = {fact["id"]: fact for fact in map(json.loads, lines)}
    wait_until(lambda: expected.keys() <= orders(run_folder).keys(), "all sample orders are indexed")
    found = orders(run_folder)
    assert {name: found[name]["data"]["total"] for name in expected} == {n: f["total"] for n, f in expected.items()}


def test_facts_of_a_file_are_written(run_folder: Path, tmp_path: Path) -> None:
    """The command says how many."""
    facts = tmp_path / "facts.csv"
    facts.write_text("id,customerId,town\nl-1,c-l1,Lund\nl-2,c-l2,Lund\n")
    ended = load(run_folder, str(facts), "--source", "customers", "--format", "json")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)[0]["facts"] == 2
    assert {item["id"] for item in items(run_folder, "customers", "c.town = 'Lund'")} == {"l-1", "l-2"}


def test_nothing_is_written_when_a_later_line_is_wrong(run_folder: Path, tmp_path: Path) -> None:
    """Files are checked before the first fact is written."""
    facts = tmp_path / "facts.jsonl"
    facts.write_text('{"id": "n-1", "customerId": "c", "town": "Nowhere"}\nnot json\n')
    ended = load(run_folder, str(facts), "--source", "customers")
    assert ended.returncode == 2
    assert "line 2" in ended.stderr
    assert items(run_folder, "customers", "c.town = 'Nowhere'") == []


def test_facts_of_a_file_are_sent_as_events(run_folder: Path, tmp_path: Path) -> None:
    """Ten versions of each, in their order and in one call; the index has the last one."""
    file = tmp_path / "orders.jsonl"
    versions = [
        {
            "id": f"l-{number}",
            "customer": {"id": "Zoë"},
            "revision": revision,
            "placedAt": "2026-01-01",
            "total": revision,
        }
        for revision in range(1, 11)
        for number in range(30)
    ]
    file.write_text("\n".join(map(json.dumps, versions)))
    ended = load(run_folder, str(file), "--source", "orders", "--events", "--format", "json")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)[0]["facts"] == 300

    def totals() -> dict[str, float]:
        return {name: row["data"]["total"] for name, row in orders(run_folder).items() if name.startswith("l-")}

    wait_until(lambda: totals() == {f"l-{number}": 10 for number in range(30)}, "the last version of each")


def test_a_namespace_that_does_not_answer_ends_the_load(tmp_path: Path) -> None:
    """Exit code 1 with the reason."""
    file = tmp_path / "orders.json"
    file.write_text(json.dumps({"id": "1", "customer": {"id": "c"}, "revision": 1}))
    (port,) = ports.any_free(1)
    dead = {"http": "", "eventHubs": {"connectionString": connection_string(port)}}
    (tmp_path / "endpoints.json").write_text(json.dumps(dead))
    ended = load(tmp_path, str(file), "--source", "orders", "--events")
    assert (ended.returncode, "Not all facts were sent to the hub orders" in ended.stderr) == (1, True), ended.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--source", "custmers"], "choose one of customers, movies, orders"),
        (["--source", "customers", "--events"], "the source customers has no event hub"),
        (["--source", "orders"], "line 1: A change of source"),
        (["--source", "orders", "--events"], "line 1: A change of source"),
        (["--source", "customers", "--definitions", "none.yaml"], "there is no file none.yaml"),
    ],
)
def test_a_wrong_call_says_what_to_do(run_folder: Path, tmp_path: Path, arguments: list[str], reason: str) -> None:
    """Exit code 2."""
    facts = tmp_path / "facts.jsonl"
    facts.write_text('{"id": "1"}')
    ended = load(run_folder, str(facts), *arguments)
    assert (ended.returncode, reason in ended.stderr) == (2, True), ended.stderr


def test_without_a_local_run_it_says_how_to_start_one(tmp_path: Path) -> None:
    """Exit code 2."""
    facts = tmp_path / "facts.jsonl"
    facts.write_text('{"id": "1"}')
    ended = load(tmp_path, str(facts), "--source", "customers")
    assert (ended.returncode, "make run" in ended.stderr) == (2, True)


def test_a_fact_that_the_service_refuses_ends_the_load(run_folder: Path, tmp_path: Path) -> None:
    """Exit code 1 with the service's reason: a time to live is a number."""
    facts = tmp_path / "facts.jsonl"
    facts.write_text(json.dumps({"id": "brief", "customerId": "c", "ttl": "a day"}))
    ended = load(run_folder, str(facts), "--source", "customers")
    assert (ended.returncode, "Not all facts were written" in ended.stderr) == (1, True), ended.stderr
    assert "Fix that, then run the same command again" in ended.stderr


def test_samples_come_only_with_the_projects_own_definitions(tmp_path: Path) -> None:
    """Other definitions start with empty containers, and broken ones start all the same."""
    definitions = tmp_path / "mine.yaml"
    definitions.write_text(
        "version: 1\n"
        "sources: {customers: {cosmos: {database: shop, container: customers}, partitionKey: customerId}}\n"
        "indexes: {}\n"
    )
    with runs.ready(tmp_path / "data", "--definitions", str(definitions)):
        assert items(tmp_path / "data", "customers") == []
