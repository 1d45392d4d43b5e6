"""A machine whose clock is days ahead: what the storage service's time says still lives is written and shown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import requests
from azure.cosmos import CosmosClient

from tests.e2e import runs
from tests.support import wait_until

if TYPE_CHECKING:
    from pathlib import Path

# Python runs this before anything else of the local run; Azurite, which is not Python, keeps the right time.
AHEAD = """\
import time
right = time.time
time.time = lambda: right() + 3 * 86_400
"""
DEFINITIONS = """\
version: 1
sources: {people: {cosmos: {database: test, container: people}, partitionKey: team}}
indexes:
  by-town: {source: people, partition: town, project: keys, expire: {path: seen, after: 1d}}
  by-name: {source: people, partition: name, project: keys, expire: {path: seen, after: 1d, tables: day}}
"""


def test_a_clock_that_is_days_ahead_hides_nothing(tmp_path: Path) -> None:
    """By that clock both entries expired two days ago: the first would not be shown, the second not even written."""
    (tmp_path / "sitecustomize.py").write_text(AHEAD)
    (tmp_path / "indexes.yaml").write_text(DEFINITIONS)
    arguments = ("--definitions", str(tmp_path / "indexes.yaml"))
    with runs.ready(tmp_path / "data", *arguments, environment={"PYTHONPATH": str(tmp_path)}) as (_, found):

        def ids(query: str) -> list[str]:
            value = requests.get(f"{found['http']}/api/indexes/{query}", timeout=20).json().get("value", ())
            return [entry["id"] for entry in value]

        client = CosmosClient(found["cosmos"]["endpoint"], found["cosmos"]["key"])
        people = client.get_database_client("test").get_container_client("people")
        people.upsert_item(
            {"id": "1", "team": "t", "town": "Lund", "name": "Ann", "seen": datetime.now(UTC).isoformat()}
        )
        wait_until(lambda: ids("by-town/entries?town=Lund") == ["1"], "the entry is shown")
        wait_until(lambda: ids("by-name/entries?name=Ann") == ["1"], "so is the one in a table of its day", 60)
        log = (tmp_path / "data" / "logs" / "host.log").read_text()
        assert "The clock of this machine is wrong" in log
