"""Tables per period on a whole local run, as HTTP and as an outsider with azure-data-tables see them."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import requests
from azure.cosmos import CosmosClient
from azure.data.tables import TableServiceClient

from shared.app.app import app
from shared.app.connection_settings import StorageConnection
from shared.catalog.period_tables import drop_expired_tables
from shared.definitions.files import read_definitions
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.entries.projection.generations import plan_of
from shared.tables.accounts import Accounts
from tests.e2e import runs
from tests.support import wait_until

if TYPE_CHECKING:
    from pathlib import Path

DEFINITIONS = """\
version: 1
sources: {people: {cosmos: {database: test, container: people}, partitionKey: team}}
indexes:
  by-name:
    {source: people, partition: name, sort: n, project: [n], expire: {path: seen, after: 1d, tables: day}}
"""
DAY = timedelta(days=1)


def day(moment: datetime) -> str:
    """A day as keys and tables name it."""
    return f"{moment:%Y%m%d}"


def rows(found: dict[str, Any]) -> dict[str, list[str]]:
    """The PartitionKeys in each table of the index, by what its name has more than the generation's."""
    with TableServiceClient.from_connection_string(found["storage"]["connectionString"]) as service:
        names = sorted(table.name for table in service.list_tables() if table.name.startswith("byname"))
        return {
            name.removeprefix(names[0]): [row["PartitionKey"] for row in service.get_table_client(name).list_entities()]
            for name in names
        }


async def drop(found: dict[str, Any], file: Path, now_seconds: float) -> int:
    """What the timer does, by a clock of our own."""
    connection = StorageConnection("main", connection_string=found["storage"]["connectionString"])
    async with app().connections.table_client(connection) as client:
        plan = plan_of(read_definitions(file).require(), "people")
        return await drop_expired_tables(Accounts({DEFAULT_ACCOUNT: client}), [plan], now_seconds)


def test_entries_go_with_the_table_of_their_day(tmp_path: Path) -> None:
    """A lookup reads all days in order; what is late makes no table; a day that is over goes with all its rows."""
    file = tmp_path / "indexes.yaml"
    file.write_text(DEFINITIONS)
    with runs.ready(tmp_path / "data", "--definitions", str(file)) as (_, found):
        client = CosmosClient(found["cosmos"]["endpoint"], found["cosmos"]["key"])
        people = client.get_database_client("test").get_container_client("people")

        def ids(size: int = 100) -> list[str]:
            url, read = f"{found['http']}/api/indexes/by-name/entries?name=Ann&maxpagesize={size}", []
            while url:
                page = requests.get(url, timeout=20).json()
                read += [entry["id"] for entry in page["value"]]
                url = page.get("nextLink")
            return read

        def put(fact: str, seen: datetime | None, n: str) -> dict[str, Any]:
            moment = None if seen is None else seen.isoformat()
            return people.upsert_item({"id": fact, "team": "t", "name": "Ann", "n": n, "seen": moment})

        now = datetime.now(UTC)
        put("late", now - 10 * DAY, "0")
        put("tomorrow", now, "3")
        put("never", None, "2")
        put("far", now + 1000 * DAY, "1")
        wait_until(lambda: sum(map(len, rows(found).values())) == 3, "those that last are indexed")
        over = datetime.now(UTC) + timedelta(seconds=12)
        put("soon", over - DAY, "4")
        # Before the first lookup, which lists the tables for the next half minute.
        wait_until(lambda: sum(map(len, rows(found).values())) == 4, "all of them are indexed")
        assert ids() == ["far", "never", "tomorrow", "soon"]
        assert ids(size=1) == ids(size=2) == ["far", "never", "tomorrow", "soon"]
        there = rows(found)
        soon = day(over)
        assert there[""] == ["00000000 Ann !"]
        assert there[f"p{day(now + 1001 * DAY)}"] == [f"{day(now + 1001 * DAY)} Ann !"]
        assert f"{soon} Ann !" in there[f"p{soon}"]
        assert f"p{day(now - 9 * DAY)}" not in there

        wait_until(lambda: ids() == ["far", "never", "tomorrow"], "one has expired")
        assert f"{soon} Ann !" in rows(found)[f"p{soon}"]
        put("tomorrow", now + DAY, "0")
        wait_until(lambda: ids() == ["tomorrow", "far", "never"], "one has moved, also to another day")
        assert rows(found)[f"p{day(now + 2 * DAY)}"] == [f"{day(now + 2 * DAY)} Ann !"]

        assert asyncio.run(drop(found, file, time.time())) == 0
        assert asyncio.run(drop(found, file, time.time() + 2 * DAY.total_seconds())) >= 1
        left = rows(found)
        assert f"p{soon}" not in left
        assert {"", f"p{day(now + 1001 * DAY)}", f"p{day(now + 2 * DAY)}"} <= left.keys()
        assert ids() == ["tomorrow", "far", "never"]
