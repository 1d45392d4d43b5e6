"""Index tables as an outsider reads them, with azure-data-tables and nothing of ours."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from azure.data.tables import EntityProperty, TableServiceClient

# The version at the end of a RowKey, inverted: newer rows of a pair come first.
VERSION_UNITS = 44


def entries(connection_string: str, index_name: str) -> list[dict[str, Any]]:
    """What the one table of an index says: the newest row of each pair, unless it is a tombstone."""
    rows = sorted(_rows(connection_string, index_name), key=_place)
    newest: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        newest.setdefault((row["PartitionKey"], row["RowKey"][:-VERSION_UNITS]), row)
    return [_entry(row) for row in newest.values() if not row.get("_gone")]


def groups(connection_string: str, index_name: str) -> dict[str, tuple[int, dict[str, Decimal]]]:
    """What the one table of a summary says: facts of each group and the sums of its paths, of all shards and lanes."""
    found: dict[str, tuple[int, dict[str, Decimal]]] = {}
    for row in _rows(connection_string, index_name):
        if row["RowKey"].startswith("0"):
            total = json.loads(row["_json"])
            facts, sums = found.get(row["_key"], (0, {}))
            added = {path: sums.get(path, Decimal(0)) + Decimal(of[0]) for path, of in total["of"].items()}
            found[row["_key"]] = facts + total["facts"], added
    return found


def _rows(connection_string: str, index_name: str) -> list[Any]:
    prefix = index_name.replace("-", "")
    with TableServiceClient.from_connection_string(connection_string) as service:
        (table,) = [table.name for table in service.list_tables() if table.name.startswith(prefix)]
        return list(service.get_table_client(table).list_entities())


def _place(row: Any) -> tuple[bytes, bytes]:
    return row["PartitionKey"].encode("utf-16-be"), row["RowKey"].encode("utf-16-be")


def _entry(row: dict[str, Any]) -> dict[str, Any]:
    plain = {name: value for name, value in row.items() if name[0] != "_" and name not in ("PartitionKey", "RowKey")}
    values = {name: item.value if isinstance(item, EntityProperty) else item for name, item in plain.items()}
    return {
        **json.loads(row["_fact"]),
        "key": json.loads(row["_key"]),
        "data": {**values, **json.loads(row.get("_json", "{}"))},
    }
