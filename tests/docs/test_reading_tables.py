"""docs/reading-tables.md: its JavaScript reads what a lookup finds, past everything that does not count."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from shared.definitions.loading.load import load
from shared.entries.keys.versions import NO_DOCUMENT, ticks_clock
from shared.entries.rows import columns, entry_row
from shared.entries.rows.entry_row import tombstone_row
from shared.entries.summaries import rows as summary_rows
from shared.lookup.client import LookupClient
from shared.lookup.generations import generation_of
from shared.tables.port import RowRange, Upsert
from tests.contract.tables.table_services import key_client
from tests.support import ROOT, missing_service
from tests.worlds.lookup_facts import customer, put_facts

if TYPE_CHECKING:
    from pathlib import Path

TEXT = (ROOT / "docs" / "reading-tables.md").read_text(encoding="utf-8")
PACKAGES = ROOT / "tests/contract/js/node_modules"
YAML = """
version: 1
sources:
  customers: {cosmos: {database: shop, container: customers}, partitionKey: customerId}
indexes:
  customers-by-town:
    source: customers
    partition: town
    sort: [firstName]
    project: [phone, points]
    expire: {path: leftAt, after: 1d}
"""
DEFINITIONS = load(YAML).require()
INDEX = DEFINITIONS.indexes["customers-by-town"]
CUSTOMERS = [
    customer(1, points=1),
    customer(2, points=2**60),
    customer(3, leftAt="2001-01-01T00:00:00Z"),
    customer(4, leftAt="2999-01-01T00:00:00Z"),
    customer(5),
]
TABLE = generation_of(INDEX, DEFINITIONS.sources[INDEX.source]).table
PARTITION = "Redmond !"
# As the client of Azure gives rows; integers of 64 bits are no JSON.
CALL = """
import { TableClient } from "@azure/data-tables";
import { readPartition } from "./page.mjs";
const [connection, table, partitionKey, pageSize] = process.argv.slice(2);
const options = { allowInsecureConnection: true };
const found = await readPartition(connection, table, partitionKey, options, Number(pageSize));
const rows = [];
for await (const row of TableClient.fromConnectionString(connection, table, options).listEntities()) rows.push(row);
const text = (_, value) => (typeof value === "bigint" ? `Int64 ${value}` : value);
console.log(JSON.stringify({ found, rows }, text));
"""


def read_with_javascript(folder: Path, connection_string: str, page_size: int) -> dict[str, list[dict[str, Any]]]:
    """What the code of the page finds, and every row."""
    node = shutil.which("node")
    if node is None or not (PACKAGES / "@azure/data-tables").is_dir():
        missing_service("node or @azure/data-tables is missing: run `npm ci` in tests/contract/js")
    (code,) = re.findall(r"```js\n(.*?)```", TEXT, re.DOTALL)
    (folder / "page.mjs").write_text(code)
    (folder / "call.mjs").write_text(CALL)
    (folder / "node_modules").symlink_to(PACKAGES)
    done = subprocess.run(
        [str(node), "call.mjs", connection_string, TABLE, PARTITION, str(page_size)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    read: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
    return read


async def put_rows(connection_string: str) -> None:
    """Entries that count, one that has expired, one that will, and one that is gone, above its older row."""
    async with key_client(connection_string) as tables:
        await put_facts(tables, {"customers": CUSTOMERS}, DEFINITIONS)
        first = (await tables.query(TABLE, RowRange(PARTITION))).rows[0]
        entry_key = str(first.entity["RowKey"])[:-44]
        newer = f"{ticks_clock(2, 0)}1{NO_DOCUMENT}"
        await tables.transact(TABLE, [Upsert(tombstone_row(PARTITION, entry_key, newer))])


@pytest.mark.parametrize("page_size", [1, 1000])
async def test_the_javascript_of_the_page_finds_what_a_lookup_finds(
    own_azurite: str, tmp_path: Path, page_size: int
) -> None:
    """Neither tombstones nor what they hide, nor what has expired; in the same order, however pages are cut."""
    await put_rows(own_azurite)
    (tmp_path / "indexes.yaml").write_text(YAML)
    async with LookupClient.connect(tmp_path / "indexes.yaml", own_azurite) as client:
        page = await client.find(INDEX.name, {"town": "Redmond"})
    found = read_with_javascript(tmp_path, own_azurite, page_size)["found"]
    assert [entry["key"] for entry in found] == [entry["key"] for entry in page.entries]
    assert [entry["id"] for entry in found] == ["2", "4", "5"]
    assert found[0]["phone"] == "555-0002"


async def test_rows_are_spelled_as_the_page_says(own_azurite: str, tmp_path: Path) -> None:
    """Keys, integers as Int64, and columns of our own."""
    await put_rows(own_azurite)
    rows = read_with_javascript(tmp_path, own_azurite, 1000)["rows"]
    by_entry: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_entry.setdefault(row["rowKey"][:-44], []).append(row)
    (row,) = by_entry["Ann 02 !c-2 !2 !"]
    assert (row["partitionKey"], row["points"]) == (PARTITION, f"Int64 {2**60}")
    assert json.loads(row["_fact"]) == {"id": "2", "partitionKey": ["c-2"]}
    assert json.loads(row["_key"]) == {"town": "Redmond", "firstName": "Ann 02"}
    assert [row.get("_gone") for row in by_entry["Ann 01 !c-1 !1 !"]] == [True, None]
    (expiring,) = by_entry["Ann 04 !c-4 !4 !"]
    assert expiring["_expires"].startswith("Int64 ")


def test_the_page_has_every_column_of_ours() -> None:
    """Of entries and of summaries."""
    ours = {columns.FACT, columns.KEY, columns.REST, columns.REFERENCE, columns.EXPIRES, entry_row.GONE}
    named = re.findall(r"`(_[a-z]+)`", "".join(re.findall(r"^\| (`_.*?) \|", TEXT, re.MULTILINE)))
    assert set(named) == ours | {summary_rows.AT, summary_rows.LANE}
