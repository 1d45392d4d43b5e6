"""Storage goes away while changes are written; soon after it is back everything is in the index."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import requests
from azure.cosmos import CosmosClient, PartitionKey

from local.process import ports
from tests.contract.cosmos.server import LocalCosmos
from tests.e2e import runs
from tests.e2e.gate import Gate
from tests.e2e.outside_reader import entries
from tests.support import ROOT, Program, listens, local_command, running, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DEFINITIONS = """
version: 1
sources:
  {name}: {{cosmos: {{database: {name}, container: people}}, partitionKey: id}}
indexes:
  {name}-by-town: {{source: {name}, partition: town, sort: name, project: [phone]}}
"""
FACTS = 60
# An outage in which at most this many connections are tried costs nothing; without a breaker it would be hundreds.
PROBES_PER_SECOND = 2
UNTIL_OPEN = 60
# What people and programs wait for while storage is silent, and how long they do.
CALLS = (
    "GET dead-letters",
    "GET indexes/silent-by-town/entries?town=t",
    "POST dead-letters/replay",
    "GET indexes/silent-by-town/builds",
    "POST indexes/silent-by-town/switch",
    "GET indexes/silent-by-town/verifications",
    "GET advice",
)
PATIENCE_SECONDS = 15


@dataclass(frozen=True)
class App:
    """A host whose index tables are behind a gate, and the container that it reads."""

    name: str
    url: str
    container: Any
    gate: Gate
    storage: str
    program: Program

    def write(self, first: int) -> None:
        """Write facts with numbers from this one on."""
        for number in range(first, first + FACTS):
            self.container.upsert_item({"id": str(number), "town": f"t{number % 3}", "name": "n", "phone": "1"})

    def ids(self) -> set[int]:
        """The facts in the index, read past the gate."""
        with contextlib.suppress(ValueError):  # the table is not there yet
            return {int(entry["id"]) for entry in entries(self.storage, f"{self.name}-by-town")}
        return set()

    def look_up(self) -> requests.Response:
        """A lookup, through the gate."""
        return requests.get(f"{self.url}/api/indexes/{self.name}-by-town/entries?town=t0", timeout=20)


@pytest.fixture
def app(azurite: str, tmp_path: Path) -> Iterator[App]:
    """A host on its own database, with the tables behind a gate."""
    name = f"o{uuid.uuid4().hex[:10]}"
    (tmp_path / "indexes.yaml").write_text(DEFINITIONS.format(name=name))
    cosmos = LocalCosmos(tmp_path / "cosmos", ("--partitions", "1")).start()
    database = CosmosClient(cosmos.endpoint, cosmos.key).create_database(name)
    database.create_container("leases", PartitionKey("/id"))
    container = database.create_container("people", PartitionKey("/id"))
    table_port = int(re.findall(r"TableEndpoint=http://127.0.0.1:(\d+)/", azurite)[0])
    (port,) = ports.any_free(1)
    command = local_command("host", "--app", str(ROOT), "--port", str(port), "--watch-stdin")
    with Gate(table_port) as gate:
        settings = {
            "AzureWebJobsStorage": azurite,
            "INDEX_STORAGE": azurite.replace(f":{table_port}/", f":{gate.port}/"),
            "INDEX_DEFINITIONS": str(tmp_path / "indexes.yaml"),
            "COSMOS": f"AccountEndpoint={cosmos.endpoint};AccountKey={cosmos.key};",
            "FEED_POLL_DELAY_MS": "50",
        }
        with running(command, tmp_path / "host.log", settings) as program:
            wait_until(lambda: listens(port) or program.process.poll() is not None, "the host listens")
            yield App(name, f"http://127.0.0.1:{port}", container, gate, azurite, program)
    cosmos.stop()


def test_connections_that_are_dropped_cost_little_and_nothing_is_lost(app: App) -> None:
    """Few connections are tried, lookups fail at once, and the changes are there soon after the outage."""
    app.write(0)
    wait_until(lambda: app.ids() == set(range(FACTS)), "the first facts are indexed")
    app.gate.shut()
    began = time.monotonic()
    app.write(FACTS)
    wait_until(lambda: "the breaker opens" in app.program.output, "the breaker is open")
    answer = app.look_up()
    assert (answer.status_code, answer.json()["code"]) == (503, "StorageUnreachable")
    wait_until(lambda: app.gate.dropped > UNTIL_OPEN // 4, "some probes were sent")
    assert app.gate.dropped <= UNTIL_OPEN + PROBES_PER_SECOND * (time.monotonic() - began)
    assert app.ids() == set(range(FACTS))
    app.gate.open()
    wait_until(lambda: app.ids() == set(range(2 * FACTS)), "everything is indexed")
    assert app.look_up().status_code == 200
    assert "answers again" in app.program.output


def test_storage_that_falls_silent_and_wakes_up_has_every_change(tmp_path: Path) -> None:
    """Azurite is stopped as a whole, with its blobs and queues, while changes are written. No call waits long."""
    (tmp_path / "indexes.yaml").write_text(DEFINITIONS.format(name="silent"))
    with runs.ready(tmp_path / "data", "--definitions", str(tmp_path / "indexes.yaml")) as (_, found):
        client = CosmosClient(found["cosmos"]["endpoint"], found["cosmos"]["key"])
        container = client.get_database_client("silent").get_container_client("people")
        storage, azurite_pid = found["storage"]["connectionString"], found["pids"]["azurite"]
        container.upsert_item({"id": "0", "town": "t", "name": "n"})
        wait_until(lambda: len(entries(storage, "silent-by-town")) == 1, "the first fact is indexed")
        os.kill(azurite_pid, signal.SIGSTOP)
        try:
            for number in range(1, FACTS):
                container.upsert_item({"id": str(number), "town": "t", "name": "n"})
            for call in CALLS:
                method, _, path = call.partition(" ")
                answer = requests.request(method, f"{found['http']}/api/{path}", timeout=PATIENCE_SECONDS)
                assert (answer.status_code, answer.json()["code"]) == (503, "StorageUnreachable"), call
        finally:
            os.kill(azurite_pid, signal.SIGCONT)
        wait_until(lambda: len(entries(storage, "silent-by-town")) == FACTS, "everything is indexed")
