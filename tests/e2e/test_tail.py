"""`index-tables tail --source` shows changes as they pass, from a container's feed and from an event hub."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from azure.cosmos import CosmosClient
from azure.eventhub import EventData, EventHubProducerClient

from tests.e2e import runs
from tests.support import DEADLINE_SECONDS, ROOT, Program, running, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DEFINITIONS = """
version: 1
sources:
  orders: {eventHub: orders, partitionKey: customer, version: revision}
  carts: {cosmos: {database: test, container: carts}, eventHub: carts, partitionKey: shop, version: revision}
  films: {cosmos: {database: test, container: films}, partitionKey: genre, deletes: {feed: allVersions}}
indexes:
  orders-by-status: {source: orders, partition: status}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A local run's parent folder, with its definitions."""
    folder = tmp_path_factory.mktemp("tail")
    (folder / "indexes.yaml").write_text(DEFINITIONS)
    with runs.ready(folder / "data", "--definitions", str(folder / "indexes.yaml")):
        yield folder


@contextlib.contextmanager
def tail(folder: Path, tmp_path: Path, source: str, *arguments: str) -> Iterator[Program]:
    """The command as a user calls it, with standard output and error in one file."""
    command = [sys.executable, "-m", "cli", "tail", "--source", source, "--data", str(folder / "data")]
    command += ["--definitions", str(folder / "indexes.yaml"), "--format", "jsonl", *arguments]
    with running(command, tmp_path / "tail.log") as program:
        yield program


def shown(program: Program) -> list[dict[str, Any]]:
    """The changes that were printed."""
    return [json.loads(line) for line in program.output.splitlines() if line.startswith("{")]


def send(folder: Path, hub: str, *events: Any) -> None:
    """Events in one partition: bytes as they are, anything else as JSON."""
    connection = runs.endpoints(folder / "data")["eventHubs"]["connectionString"]
    with EventHubProducerClient.from_connection_string(connection, eventhub_name=hub) as producer:
        batch = producer.create_batch(partition_key="k")
        for event in events:
            batch.add(EventData(event if isinstance(event, bytes) else json.dumps(event)))
        producer.send_batch(batch)


def order(number: int) -> dict[str, Any]:
    """An upsert."""
    return {"op": "upsert", "document": {"id": f"o{number}", "customer": "c", "revision": 1}}


def container(folder: Path, name: str) -> Any:
    """A container of the run."""
    found = runs.endpoints(folder / "data")["cosmos"]
    return CosmosClient(found["endpoint"], found["key"]).get_database_client("test").get_container_client(name)


def test_events_are_shown_from_the_beginning_or_from_now_on(folder: Path, tmp_path: Path) -> None:
    """What cannot be read is shown with its reason; the command ends after as many changes as it was told."""
    send(folder, "orders", order(1), b"\xff", {"op": "delete", "id": "o1", "partitionKey": "c", "version": 2})
    with tail(folder, tmp_path, "orders", "--from-beginning", "--changes", "3") as program:
        assert program.wait() == 0
    first, second, third = shown(program)
    assert (first["op"], first["id"], first["document"]["revision"]) == ("upsert", "o1", 1)
    assert (second["op"], "not JSON" in second["reason"]) == ("unreadable", True)
    assert (third["op"], third["partitionKey"], third["document"]) == ("delete", ["c"], None)
    with tail(folder, tmp_path, "orders", "--changes", "1") as program:
        wait_until(lambda: "following event hub orders" in program.output, "it follows")
        send(folder, "orders", order(2))
        assert program.wait() == 0
    assert [change["id"] for change in shown(program)] == ["o2"]


def test_a_source_with_a_container_and_a_hub_shows_both(folder: Path, tmp_path: Path) -> None:
    """Each change says where it came from."""
    container(folder, "carts").upsert_item({"id": "before", "shop": "s", "revision": 1})
    with tail(folder, tmp_path, "carts", "--changes", "2") as program:
        wait_until(lambda: program.output.count("following") == 2, "it follows both")
        container(folder, "carts").upsert_item({"id": "stored", "shop": "s", "revision": 1})
        send(folder, "carts", {"op": "upsert", "document": {"id": "sent", "shop": "s", "revision": 2}})
        assert program.wait() == 0
    origins = {change["id"]: change["from"].split()[0] for change in shown(program)}
    assert origins == {"stored": "container", "sent": "partition"}


def test_hard_deletes_are_shown(folder: Path, tmp_path: Path) -> None:
    """A feed of all versions and deletes has them."""
    with tail(folder, tmp_path, "films", "--changes", "2") as program:
        wait_until(lambda: "following container films" in program.output, "it follows")
        container(folder, "films").upsert_item({"id": "f1", "genre": "drama"})
        container(folder, "films").delete_item("f1", "drama")
        assert program.wait() == 0
    assert [(change["op"], change["id"]) for change in shown(program)] == [("upsert", "f1"), ("delete", "f1")]


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["--source", "orders", "orders-by-status"], 2, "one of the two"),
        ([], 2, "one of the two"),
        (["--source", "ordrs"], 2, "choose one of"),
        (["--source", "orders", "--format", "csv"], 2, "use table or jsonl"),
        (["--source", "orders", "--changes", "0"], 2, "numbers above 0"),
    ],
)
def test_a_wrong_call_says_what_to_do(
    arguments: list[str], code: int, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and nothing is followed."""
    from cli.main import main

    assert main(["tail", *arguments]) == code
    assert reason in capsys.readouterr().err


def test_a_service_that_does_not_answer_is_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1 with the reason."""
    from cli.main import main
    from local.emulators.eventhubs.options import connection_string
    from local.process import ports

    (port,) = ports.any_free(1)
    dead = {"http": "", "eventHubs": {"connectionString": connection_string(port)}}
    (tmp_path / "endpoints.json").write_text(json.dumps(dead))
    assert main(["tail", "--source", "orders", "--data", str(tmp_path)]) == 1
    assert "cannot be followed" in capsys.readouterr().err


@pytest.mark.parametrize("source", ["orders", "carts"])
def test_a_reader_that_stops_early_ends_it(folder: Path, source: str) -> None:
    """As in `| head -1`: exit 0, and no word of a feed or a hub that fails."""
    send(folder, "orders", order(8), order(9))
    for number in range(2):
        container(folder, "carts").upsert_item({"id": f"c{number}", "shop": "s", "revision": 1})
    command = [sys.executable, "-m", "cli", "tail", "--source", source, "--data", str(folder / "data")]
    command += ["--definitions", str(folder / "indexes.yaml"), "--from-beginning"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        try:
            process.wait(DEADLINE_SECONDS)
        finally:
            process.kill()
        messages = process.stderr.read()
    assert process.returncode == 0, messages
    assert all(line.startswith("following ") for line in messages.splitlines()), messages
