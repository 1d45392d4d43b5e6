"""docs/reading-tables.md: its JavaScript reads what a lookup finds, past everything that does not count."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from shared.definitions.loading.load import load
from shared.entries.keys.versions import NO_DOCUMENT, ticks_clock
from shared.entries.rows.entry_row import tombstone_row
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
    project: [phone]
    expire: {path: leftAt, after: 1d}
"""
DEFINITIONS = load(YAML).require()
INDEX = DEFINITIONS.indexes["customers-by-town"]
CUSTOMERS = [
    customer(1),
    customer(2),
    customer(3, leftAt="2001-01-01T00:00:00Z"),
    customer(4, leftAt="2999-01-01T00:00:00Z"),
    customer(5),
]
TABLE = generation_of(INDEX, DEFINITIONS.sources[INDEX.source]).table
PARTITION = "Redmond !"
CALL = """
import { readPartition } from "./page.mjs";
const [connection, table, partitionKey] = process.argv.slice(2);
const found = await readPartition(connection, table, partitionKey, { allowInsecureConnection: true });
console.log(JSON.stringify(found));
"""


def read_with_javascript(folder: Path, connection_string: str) -> list[dict[str, Any]]:
    """What the code of the page finds."""
    node = shutil.which("node")
    if node is None or not (PACKAGES / "@azure/data-tables").is_dir():
        missing_service("node or @azure/data-tables is missing: run `npm ci` in tests/contract/js")
    (code,) = re.findall(r"```js\n(.*?)```", TEXT, re.DOTALL)
    (folder / "page.mjs").write_text(code)
    (folder / "call.mjs").write_text(CALL)
    (folder / "node_modules").symlink_to(PACKAGES)
    done = subprocess.run(
        [str(node), "call.mjs", connection_string, TABLE, PARTITION],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


async def put_rows(connection_string: str) -> None:
    """Entries that count, one that has expired, one that will, and one that is gone, above its older row."""
    async with key_client(connection_string) as tables:
        await put_facts(tables, {"customers": CUSTOMERS}, DEFINITIONS)
        first = (await tables.query(TABLE, RowRange(PARTITION))).rows[0]
        entry_key = str(first.entity["RowKey"])[:-44]
        newer = f"{ticks_clock(2, 0)}1{NO_DOCUMENT}"
        await tables.transact(TABLE, [Upsert(tombstone_row(PARTITION, entry_key, newer))])


async def test_the_javascript_of_the_page_finds_what_a_lookup_finds(own_azurite: str, tmp_path: Path) -> None:
    """Neither tombstones nor what they hide, nor what has expired; in the same order."""
    await put_rows(own_azurite)
    (tmp_path / "indexes.yaml").write_text(YAML)
    async with LookupClient.connect(tmp_path / "indexes.yaml", own_azurite) as client:
        page = await client.find(INDEX.name, {"town": "Redmond"})
    found = read_with_javascript(tmp_path, own_azurite)
    assert [entry["key"] for entry in found] == [entry["key"] for entry in page.entries]
    assert [entry["id"] for entry in found] == ["2", "4", "5"]
    assert found[0]["phone"] == "555-0002"
