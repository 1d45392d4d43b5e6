"""A whole local run with several storage accounts: entries are where their map says, and lookups find them there."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import requests
from azure.cosmos import CosmosClient
from azure.data.tables import TableServiceClient

from shared.lookup.client import LookupClient
from tests.e2e import runs
from tests.support import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DEFINITIONS = """
version: 1
sources: {people: {cosmos: {database: test, container: people}, partitionKey: team}}
indexes:
  by-hash:
    source: people
    partition: town
    sort: name
    shards: 4
    placement: {by: hash, accounts: [NORTH, SOUTH]}
  by-list:
    source: people
    partition: town
    sort: name
    placement: {by: list, map: {Lund: SOUTH}, default: INDEX_STORAGE}
  by-range:
    source: people
    partition: {path: age, type: integer}
    sort: name
    placement: {by: range, map: [{to: 50, account: NORTH}, {from: 50, account: SOUTH}]}
"""
PEOPLE = [
    {"id": str(n), "team": "t", "town": ["Lund", "Oslo", "Rome"][n % 3], "name": f"n{n:02d}", "age": n}
    for n in range(60)
]
ACCOUNTS = ("INDEX_STORAGE", "NORTH", "SOUTH")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, Any]]]:
    """A run with all facts in all indexes."""
    folder = tmp_path_factory.mktemp("placement")
    file = folder / "indexes.yaml"
    file.write_text(DEFINITIONS)
    with runs.ready(folder / "data", "--definitions", str(file)) as (_, found):
        client = CosmosClient(found["cosmos"]["endpoint"], found["cosmos"]["key"])
        container = client.get_database_client("test").get_container_client("people")
        for person in PEOPLE:
            container.upsert_item(person)
        for index in ("by-hash", "by-list", "by-range"):
            wait_until(partial(has_all, found, index), f"all facts are in {index}")
        yield file, found


def connections(found: dict[str, Any]) -> dict[str, str]:
    """Connection strings of all accounts by name."""
    return {"INDEX_STORAGE": found["storage"]["connectionString"], **found["storage"]["placed"]}


def ids(found: dict[str, Any], index: str, **parameters: str) -> list[str]:
    """A lookup over HTTP."""
    answer = requests.get(f"{found['http']}/api/indexes/{index}/entries", params=parameters, timeout=20)
    return [entry["id"] for entry in answer.json().get("value", ())]


def rows_by_account(found: dict[str, Any], index: str) -> dict[str, list[str]]:
    """The PartitionKeys of an index's rows in every account, read with the service's own SDK."""
    prefix = index.replace("-", "")
    rows = {}
    for name, text in connections(found).items():
        with TableServiceClient.from_connection_string(text) as service:
            tables = [table.name for table in service.list_tables() if table.name.startswith(prefix)]
            rows[name] = [
                row["PartitionKey"] for table in tables for row in service.get_table_client(table).list_entities()
            ]
    return rows


def has_all(found: dict[str, Any], index: str) -> bool:
    """Whether every fact is in an index; a batch writes one index after the other."""
    return sum(map(len, rows_by_account(found, index).values())) == len(PEOPLE)


def test_a_list_puts_named_values_into_their_account(run: tuple[Path, dict[str, Any]]) -> None:
    """And all others into the default."""
    rows = rows_by_account(run[1], "by-list")
    assert {name: set(found) for name, found in rows.items()} == {
        "INDEX_STORAGE": {"Oslo !", "Rome !"},
        "NORTH": set(),
        "SOUTH": {"Lund !"},
    }


def test_a_range_splits_numbers_at_its_seam(run: tuple[Path, dict[str, Any]]) -> None:
    """50 is the first of the upper slice."""
    rows = rows_by_account(run[1], "by-range")
    assert [len(rows[name]) for name in ACCOUNTS] == [0, 50, 10]
    assert [ids(run[1], "by-range", age=age) for age in ("49", "50")] == [["49"], ["50"]]


def test_a_hash_deals_out_shards_and_lookups_merge_them(run: tuple[Path, dict[str, Any]]) -> None:
    """Both accounts have two shards of each town, and a lookup gives the whole in order."""
    rows = rows_by_account(run[1], "by-hash")
    assert rows["INDEX_STORAGE"] == []
    assert len(rows["NORTH"]) + len(rows["SOUTH"]) == len(PEOPLE)
    assert all(len({key for key in rows[name] if key.endswith("Lund !")}) == 2 for name in ("NORTH", "SOUTH"))
    assert ids(run[1], "by-hash", town="Lund") == [str(n) for n in range(0, 60, 3)]
    explained = requests.get(f"{run[1]['http']}/api/indexes/by-hash/explain?town=Lund", timeout=20).json()
    assert set(explained["accounts"]) == {"NORTH", "SOUTH"}


async def test_an_application_reads_the_same_accounts(run: tuple[Path, dict[str, Any]]) -> None:
    """With the connection strings of the placements."""
    file, found = run
    main, placed = found["storage"]["connectionString"], found["storage"]["placed"]
    async with LookupClient.connect(file, main, placed=placed) as client:
        entries = [entry["id"] async for entry in client.entries("by-hash", {"town": "Oslo", "maxpagesize": 7})]
    assert entries == [str(n) for n in range(1, 60, 3)]


def test_readiness_asks_every_account(run: tuple[Path, dict[str, Any]]) -> None:
    """All of them answer here."""
    assert requests.get(f"{run[1]['http']}/api/health/ready", timeout=20).json() == {"status": "ready"}
