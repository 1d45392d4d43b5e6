"""Entries move between periods and partitions while the host is killed: in the end each is in the table of its day."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from azure.data.tables import TableServiceClient

from tests.e2e import runs
from tests.e2e.outside_reader import VERSION_UNITS
from tests.e2e.test_move_and_expire import TOWNS, Writing, entries, is_shown, kill_host
from tests.support import ROOT, wait_until

if TYPE_CHECKING:
    from pathlib import Path

KILLS = 4
DEFINITIONS = """\
version: 1
sources: {people: {cosmos: {database: test, container: people}, partitionKey: team}}
indexes:
  by-town:
    {source: people, partition: town, sort: name, project: [n], expire: {path: until, after: 1d, tables: day}}
"""


def places(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What each entry's fact, table and PartitionKey are, as an outsider sees them."""
    with TableServiceClient.from_connection_string(found["storage"]["connectionString"]) as service:
        names = sorted(table.name for table in service.list_tables() if table.name.startswith("bytown"))
        rows = [(name, row) for name in names for row in service.get_table_client(name).list_entities()]
    newest: dict[tuple[str, str, str], dict[str, Any]] = {}
    for name, row in sorted(rows, key=lambda item: (item[0], item[1]["PartitionKey"], item[1]["RowKey"])):
        newest.setdefault((name, row["PartitionKey"], row["RowKey"][:-VERSION_UNITS]), dict(row))
    return sorted(
        (json.loads(row["_fact"])["id"], name.removeprefix(names[0]), row["PartitionKey"])
        for (name, _, _), row in newest.items()
        if not row.get("_gone")
    )


def place_of(fact: str, document: dict[str, Any]) -> tuple[str, str, str]:
    """Where an entry belongs: in the day after `until`."""
    day = f"{datetime.fromisoformat(document['until']).astimezone(UTC) + timedelta(days=1):%Y%m%d}"
    return fact, f"p{day}", f"{day} {document['town']} !"


def newest_shown(found: dict[str, Any]) -> int:
    """The number of the last write that a lookup shows."""
    return max([n for town in TOWNS for n in entries(found, town).values()], default=0)


def is_further(found: dict[str, Any], than: int) -> bool:
    """Whether a lookup shows a later write."""
    return newest_shown(found) > than


@pytest.mark.long
def test_entries_move_between_periods_under_live_writes_and_kills(tmp_path: Path) -> None:
    """Every lookup equals the newest facts, a verification finds nothing, and no other row is live anywhere."""
    file, data = tmp_path / "indexes.yaml", tmp_path / "data"
    file.write_text(DEFINITIONS)
    settings = {"SWEEP_DELAY_SECONDS": "2"}
    with runs.ready(data, "--definitions", str(file), environment=settings) as (_, found), Writing(found) as writing:
        for _ in range(KILLS):
            seen = newest_shown(found)
            wait_until(partial(is_further, found, seen + 100), "changes are applied", 60)
            kill_host(found, data)
        facts = writing.end()
        for town in TOWNS:
            wanted = {fact: document["n"] for fact, document in facts.items() if document["town"] == town}
            wait_until(partial(is_shown, found, town, wanted), f"{town} is right", 90)
        verify = [sys.executable, "-m", "cli", "verify", "by-town", "--data", str(data)]
        done = subprocess.run(verify, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert places(found) == sorted(place_of(fact, document) for fact, document in facts.items())
