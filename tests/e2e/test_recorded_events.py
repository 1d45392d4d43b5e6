"""A hub that several systems write to: recorded events go through the local run into the index of each."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from typing import TYPE_CHECKING, Any, cast

from azure.eventhub import EventData, EventHubProducerClient

from tests.e2e import runs
from tests.e2e.outside_reader import entries
from tests.support import ROOT, wait_until
from tests.worlds.hubs import ORDERS_BY_TOWN, RECORDED

if TYPE_CHECKING:
    from pathlib import Path

DEFINITIONS = """
version: 1
sources:
  rows: {eventHub: changes, events: {form: debezium, when: source.connector == 'postgresql'}}
  papers: {eventHub: changes, id: _id, events: {form: debezium, when: source.connector == 'mongodb'}}
  photos:
    eventHub: changes
    events:
      when: starts_with(not_null(type, ''), 'Microsoft.Storage.Blob') && type != 'Microsoft.Storage.BlobTierChanged'
      id: subject
      version: time
      document: data
      delete: type == 'Microsoft.Storage.BlobDeleted'
  records: {eventHub: records, events: document, version: updated, deletes: {when: removed}}
indexes:
  rows-by-town: {source: rows, partition: town, project: [total]}
  papers-by-town: {source: papers, partition: town, project: [total]}
  photos-by-type: {source: photos, partition: contentType, project: [contentLength]}
  records-by-town: {source: records, partition: town, project: [total]}
"""
LOADED = {"rows": "postgresql", "papers": "mongodb", "photos": "event-grid", "records": "kafka-connect"}


def test_recorded_events_become_entries(tmp_path: Path) -> None:
    """Sent with their keys and properties by `load --events`, and one in binary mode by a producer."""
    definitions = tmp_path / "indexes.yaml"
    definitions.write_text(DEFINITIONS)
    with runs.ready(tmp_path / "data", "--definitions", str(definitions)) as (_, endpoints):
        for source, recording in LOADED.items():
            load(tmp_path, str(RECORDED / f"{recording}.jsonl"), source)
        send_in_binary_mode(endpoints["eventHubs"]["connectionString"])
        storage = endpoints["storage"]["connectionString"]
        for index in ("rows-by-town", "papers-by-town", "records-by-town"):
            wait_until(lambda index=index: found(storage, index) == ORDERS_BY_TOWN, index)  # type: ignore[misc]
        wait_until(lambda: [size for *_, size in found(storage, "photos-by-type")] == [7, 90000], "photos-by-type")
        # Of the 7 + 7 + 5 + 1 events of the shared hub, what is no change of each source; of the other hub nothing.
        ignored = {"rows": 14, "papers": 14, "photos": 15, "records": 0}
        wait_until(lambda: counted(endpoints["http"], "ignored") == ignored, "the counts of the status")
        assert not any(counted(endpoints["http"], "deadLettered").values())
        # What the hubs still have says the same, read by the same readers.
        report = verified(tmp_path, "rows-by-town")
        assert (report["examples"], report["events"], report["untold"]) == ([], 20, None), report
        assert verified(tmp_path, "records-by-town")["events"] == 5


def verified(folder: Path, index: str) -> dict[str, Any]:
    """The report of the command as a user calls it."""
    command = [sys.executable, "-m", "cli", "verify", index, "--format", "json", "--data", str(folder / "data")]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr + ended.stdout
    (report,) = json.loads(ended.stdout)
    return cast("dict[str, Any]", report)


def load(folder: Path, file: str, source: str) -> None:
    """The command as a user calls it."""
    command = [sys.executable, "-m", "cli", "load", file, "--events", "--source", source]
    command += ["--data", str(folder / "data"), "--definitions", str(folder / "indexes.yaml")]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr


def send_in_binary_mode(connection: str) -> None:
    """A CloudEvent whose attributes are properties."""
    event = EventData(json.dumps({"contentType": "image/gif", "contentLength": 7}))
    attributes = {"specversion": "1.0", "type": "Microsoft.Storage.BlobCreated", "subject": "/b", "time": "2026-11-18"}
    event.properties = {f"cloudEvents:{name}": value for name, value in attributes.items()}
    with EventHubProducerClient.from_connection_string(connection, eventhub_name="changes") as producer:
        producer.send_batch([event])


def found(storage: str, index: str) -> list[tuple[Any, ...]]:
    """The entries of an index: partition, id and the projected value, in order."""
    return sorted((*row["key"].values(), row["id"], *row["data"].values()) for row in entries(storage, index))


def counted(base: str, what: str) -> dict[str, int]:
    """A count of each source in the status."""
    with urllib.request.urlopen(f"{base}/api/status") as answer:
        return {source["name"]: source[what] for source in json.loads(answer.read())["sources"]}
