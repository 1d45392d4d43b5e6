"""The status tells how far behind the pipeline is, also while it stands still, and what it has done."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import requests
from azure.cosmos import CosmosClient
from azure.eventhub import EventData, EventHubProducerClient

from local.process import ports
from tests.e2e import outside_reader, runs
from tests.support import ROOT, listens, local_command, running, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from azure.cosmos import ContainerProxy

DEFINITIONS = """
version: 1
sources:
  people: {cosmos: {database: test, container: people}, partitionKey: team}
  films: {cosmos: {database: test, container: films}, partitionKey: genre, deletes: {feed: allVersions}}
  orders: {eventHub: orders, partitionKey: customer.id, version: revision}
indexes:
  people-by-town: {source: people, partition: town, sort: [name], project: [phone]}
  films-by-actor: {source: films, each: {actor: cast}, partition: actor, sort: title, project: [title]}
  orders-by-status: {source: orders, partition: status, project: all}
"""

INDEXES = ("people-by-town", "films-by-actor", "orders-by-status")


@dataclass(frozen=True)
class Run:
    """A local run, with a second host beside it that only answers HTTP."""

    found: dict[str, Any]
    watcher: str

    def container(self, name: str) -> ContainerProxy:
        """A container of facts."""
        client = CosmosClient(self.found["cosmos"]["endpoint"], self.found["cosmos"]["key"])
        return client.get_database_client("test").get_container_client(name)

    def status(self) -> dict[str, Any]:
        """What the second host says: it does not depend on the first."""
        answer = requests.get(f"{self.watcher}/api/status", timeout=30)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def source(self, name: str) -> dict[str, Any]:
        """What it says about a source."""
        return next(source for source in self.status()["sources"] if source["name"] == name)

    def index(self, name: str) -> dict[str, Any]:
        """What it says about an index."""
        return next(index for index in self.status()["indexes"] if index["name"] == name)

    def entries(self, index: str) -> list[dict[str, Any]]:
        """The entries of an index, as an outsider reads them."""
        return outside_reader.entries(self.found["storage"]["connectionString"], index)

    def towns(self) -> set[str]:
        """The towns that people have entries in."""
        return {entry["key"]["town"] for entry in self.entries("people-by-town")}

    def each(self, what: str) -> dict[str, Any]:
        """One thing that it says about every source."""
        return {source["name"]: source[what] for source in self.status()["sources"]}

    def are_behind(self, more_than: dict[str, Any] | None = None) -> bool:
        """Whether every source is behind, further than it was; on a busy machine a lag may be unknown for a moment."""
        lags = self.each("lagSeconds")
        return all(lag is not None and lag > (more_than or {}).get(name, 0) for name, lag in lags.items())

    def are_up_to_date(self) -> bool:
        """Whether no source is behind."""
        return set(self.each("lagSeconds").values()) == {0}

    def send_order(self, number: int, status: str) -> None:
        """An event of the source `orders`."""
        document = {"id": f"o{number}", "customer": {"id": "c"}, "revision": number, "status": status}
        envelope = {"op": "upsert", "id": f"o{number}", "partitionKey": "c", "version": number, "document": document}
        connection = self.found["eventHubs"]["connectionString"]
        with EventHubProducerClient.from_connection_string(connection, eventhub_name="orders") as producer:
            batch = producer.create_batch(partition_key="c")
            batch.add(EventData(json.dumps(envelope)))
            producer.send_batch(batch)


@contextlib.contextmanager
def watching(found: dict[str, Any], definitions: Path, log: Path, **settings: str) -> Iterator[str]:
    """A host on the same services that listens on no trigger; where it answers."""
    cosmos, storage = found["cosmos"], found["storage"]["connectionString"]
    environment = {
        "AzureWebJobsStorage": storage,
        "INDEX_STORAGE": storage,
        "INDEX_DEFINITIONS": str(definitions),
        "COSMOS": f"AccountEndpoint={cosmos['endpoint']};AccountKey={cosmos['key']};",
        "EVENTHUB": found["eventHubs"]["connectionString"],
        **settings,
    }
    (port,) = ports.any_free(1)
    command = local_command("host", "--app", str(ROOT), "--port", str(port), "--http-only", "--watch-stdin")
    with running(command, log, environment) as program:
        wait_until(lambda: listens(port) or program.process.poll() is not None, "the second host listens")
        assert program.process.poll() is None, program.output
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """One run for all tests of this file; each has facts of its own."""
    folder = tmp_path_factory.mktemp("status")
    definitions = folder / "indexes.yaml"
    definitions.write_text(DEFINITIONS)
    with (
        runs.ready(folder / "data", "--definitions", str(definitions)) as (_, found),
        watching(found, definitions, folder / "watcher.log") as watcher,
    ):
        yield Run(found, watcher)


@contextlib.contextmanager
def standing_still(run: Run) -> Iterator[None]:
    """The host that applies changes is frozen for the length of the block."""
    host = run.found["pids"]["host"]
    os.kill(host, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(host, signal.SIGCONT)


@pytest.mark.timeout(300)
def test_lag_grows_while_the_pipeline_stands_still_and_falls_afterwards(run: Run) -> None:
    """Of every kind of source, in seconds and for each of its indexes; who asks is another instance."""
    run.container("people").upsert_item({"id": "p0", "team": "a", "town": "Oslo", "name": "Ann"})
    run.container("films").upsert_item({"id": "f0", "genre": "g", "cast": ["Zoe"], "title": "T"})
    run.send_order(1, "new")
    wait_until(lambda: all(map(run.entries, INDEXES)), "a change of every source is applied", 60)
    wait_until(run.are_up_to_date, "no source is behind", 60)
    with standing_still(run):
        run.container("people").upsert_item({"id": "p1", "team": "a", "town": "Oslo", "name": "Bea"})
        run.container("films").delete_item("f0", partition_key="g")
        run.send_order(2, "paid")
        wait_until(run.are_behind, "every source is behind", 60)
        first = {name: lag or 0 for name, lag in run.each("lagSeconds").items()}
        wait_until(lambda: run.are_behind(first), "all are more behind", 60)
        assert run.index("people-by-town")["lagSeconds"] > 0
    wait_until(run.are_up_to_date, "all have caught up", 60)


def test_what_was_done_is_counted_for_all_instances(run: Run) -> None:
    """Changes by the host that applies them, lookups by the host that answers them, with transactions and money."""
    people = run.container("people")
    run.container("films").upsert_item({"id": "f9", "genre": "g", "cast": ["Liv"], "title": "T"})
    run.send_order(9, "new")
    people.upsert_item({"id": "c1", "team": "a", "town": "Bergen", "name": "Cid"})
    # The feed shows the newest version only: the move must not come before the first one is applied.
    wait_until(lambda: "Bergen" in run.towns(), "the first town is indexed")
    before = run.index("people-by-town")
    for base in (run.found["http"], run.watcher):
        answer = requests.get(f"{base}/api/indexes/people-by-town/entries?town=Nowhere", timeout=10)
        assert answer.json() == {"value": []}
    people.upsert_item({"id": "c1", "team": "a", "town": "Lund", "name": "Cid"})
    wait_until(lambda: run.index("people-by-town")["lookups"] == before["lookups"] + 2, "both lookups count", 60)
    wait_until(lambda: run.index("people-by-town")["entriesRemoved"] > before["entriesRemoved"], "the move counts", 60)
    wait_until(lambda: min(run.each("applied").values()) >= 1, "so does a change of every source", 60)
    shown = run.index("people-by-town")
    assert shown["entriesWritten"] > 0
    assert shown["transactions"]["lookups"] >= shown["lookups"]
    assert shown["transactions"]["changes"] > 0
    assert shown["dollarsPerMillionLookups"] >= 0.036
    assert (shown["state"], [generation["id"] for generation in shown["generations"]]) == (
        "serving",
        [shown["generation"]],
    )
    source = run.source("people")
    assert source["dollarsPerMillionChanges"] > 0
    assert source["transactions"] >= shown["transactions"]["changes"]


def test_a_dead_letter_is_shown_with_its_reason(run: Run) -> None:
    """Until a later version of its fact fits."""
    people = run.container("people")
    people.upsert_item({"id": "d1", "team": "a", "town": ["no", "text"], "name": "Dan"})
    wait_until(lambda: run.source("people")["deadLetters"] == 1, "the dead letter is counted")
    dead_letters = run.status()["deadLetters"]
    assert dead_letters["count"] == 1
    (reason,) = dead_letters["reasons"]
    assert (reason["source"], reason["index"], reason["count"]) == ("people", "people-by-town", 1)
    assert "town" in reason["reason"]
    people.upsert_item({"id": "d1", "team": "a", "town": "Turku", "name": "Dan"})
    wait_until(lambda: run.source("people")["deadLetters"] == 0, "the dead letter is closed")
    assert run.status()["deadLetters"]["reasons"] == []


def test_lag_over_time_is_kept(run: Run) -> None:
    """The timer adds a point for every source each minute."""

    def points() -> list[dict[str, Any]]:
        value = requests.get(f"{run.watcher}/api/status/history", timeout=10).json()["value"]
        assert [history["source"] for history in value] == ["people", "films", "orders"]
        return list(value[0]["points"])

    wait_until(lambda: bool(points()), "the first point", 75)
    first = points()[0]
    assert first["atSeconds"] > 1_700_000_000
    assert first["lagSeconds"] >= 0


def test_the_status_has_no_parameters(run: Run) -> None:
    """What it does not know it refuses."""
    answer = requests.get(f"{run.watcher}/api/status?verbose=true", timeout=10)
    assert (answer.status_code, answer.json()["code"]) == (400, "UnknownParameter")
