"""Damage to the rows of a summary: its totals, and what its facts contribute to them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from shared.tables.memory.store import as_row
from tests.simulation.truth import tables_in

if TYPE_CHECKING:
    from shared.entries.projection.generations import Generation
    from shared.tables.memory.store import Store

# What is planted, and the kinds of differences that a verification finds at least: the total of a contribution that is
# wrong is wrong as well, and which way depends on what else it counts.
KINDS: Final = {
    "missing contribution": {"missing"},
    "contribution of something else": {"stale"},
    "total with another sum": {"stale"},
    "total without rows": {"ghost"},
    "unreadable total": {"stale"},
    "missing total": {"missing"},
    "lost ledger row": {"unapplied", "ghost"},
}
_NOWHERE: Final = "0Ghosts !0"


def damage_summary(name: str, store: Store, table: str, partition: str, contribution: str) -> None:
    """Damage a contribution, the total that it counts in, or what is beside it."""
    rows = _rows(store, table, partition)
    total = _total_of(rows, contribution)
    if name == "total without rows":
        store.put((table, partition, _NOWHERE), {**rows[total], "RowKey": _NOWHERE})
    elif name == "missing total":
        store.put((table, partition, total), None)
    elif name == "missing contribution":
        store.put((table, partition, contribution), None)
    elif name == "contribution of something else":
        row = rows[contribution]
        store.put((table, partition, contribution), {**row, "_json": _other_sum(row["_json"])})
    else:
        text = "no JSON" if name == "unreadable total" else _other_sum(rows[total]["_json"])
        store.put((table, partition, total), {**rows[total], "_json": text})


def leftovers_of_summary(generation: Generation, store: Store) -> int:
    """Contributions that are gone, and totals of nothing."""
    found = 0
    for table in tables_in(store, generation):
        for partition in store.partition_keys(table):
            rows = _rows(store, table, partition)
            contributions = [key for key, row in rows.items() if key[0] != "0" and "_json" in row]
            used = {_total_of(rows, key) for key in contributions}
            found += len(rows) - len(contributions) - len(used)
    return found


def _rows(store: Store, table: str, partition: str) -> dict[str, dict[str, Any]]:
    found = {key: as_row((table, partition, key), stored) for key, stored in store.partition(table, partition).items()}
    return {key: dict(row.entity) for key, row in found.items() if row is not None}


def _total_of(rows: dict[str, dict[str, Any]], contribution: str) -> str:
    """The RowKey of the total that a contribution counts in."""
    row = rows[contribution]
    fact = json.loads(row["_fact"])["id"]
    return f"0{contribution[1:].removesuffix(f'{fact} !{fact} !')}{row['_lane']}"


def _other_sum(text: str) -> str:
    plain = json.loads(text)
    plain["of"]["spent"][0] = "99.5"
    return json.dumps(plain)
