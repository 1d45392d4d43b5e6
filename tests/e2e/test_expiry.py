"""Entries that go by themselves, on a whole local run: by `expire`, and with facts whose time to live is over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import requests
from azure.cosmos import CosmosClient, PartitionKey

from tests.e2e import runs
from tests.support import wait_until

if TYPE_CHECKING:
    from pathlib import Path

DEFINITIONS = """\
version: 1
sources:
  people: {cosmos: {database: test, container: people}, partitionKey: team, deletes: {feed: allVersions}}
indexes:
  by-town: {source: people, partition: town, project: keys}
  by-name: {source: people, partition: name, project: keys, expire: {path: seen, after: 3s}}
"""


def test_entries_go_with_their_time_and_with_their_facts(tmp_path: Path) -> None:
    """An entry that expires goes although its fact stays; a fact whose time to live is over takes its entries along."""
    file = tmp_path / "indexes.yaml"
    file.write_text(DEFINITIONS)
    with runs.ready(tmp_path / "data", "--definitions", str(file)) as (_, found):
        database = CosmosClient(found["cosmos"]["endpoint"], found["cosmos"]["key"]).get_database_client("test")
        people = database.replace_container("people", PartitionKey("/team"), default_ttl=-1)

        def ids(index: str, **parameters: str) -> list[str]:
            answer = requests.get(f"{found['http']}/api/indexes/{index}/entries", params=parameters, timeout=20)
            return [entry["id"] for entry in answer.json()["value"]]

        person = {"team": "t", "town": "Lund", "name": "Ann"}
        seen = datetime.now(UTC)
        people.upsert_item({**person, "id": "stays", "seen": seen.isoformat()})
        goes = {**person, "id": "goes", "seen": (seen + timedelta(days=1)).isoformat()}
        people.upsert_item(goes)
        wait_until(lambda: len(ids("by-town", town="Lund")) == 2, "the facts are indexed")
        people.upsert_item({**goes, "ttl": 2})
        wait_until(lambda: ids("by-town", town="Lund") == ["stays"], "the fact whose time to live is over is gone")
        wait_until(lambda: ids("by-name", name="Ann") == [], "one entry went with its fact, one by its own time")
        assert datetime.now(UTC) >= seen + timedelta(seconds=3)
