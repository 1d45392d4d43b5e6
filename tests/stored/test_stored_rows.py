"""Rows, messages and blobs as they are stored, spelled out: their literals, and the JSON in them."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any

from tests.stored import app as of
from tests.stored.snapshot import Rows, row_of

# As the old tree compressed it.
PARTS_OF_LAMP = (
    "XY07EsMgDESvYqumkIT4+A6+AUMBCFeu8rl/YijiiQrp7cxqNyWItol6x1iRqcgGBnAMhXEc2qnv26KzopFaB4MmJdiX9ft4lPPZL0IDLmxa1TflWkWoQM4/"
    "4+vxHr7/KrqXTCbsB7fO/krI+QM="
)


def test_rows_of_the_catalog(tables: dict[str, Rows]) -> None:
    """Kinds of rows, states, and bookmarks by their walk."""
    rows = tables["Catalog"]
    kinds = {(row["PartitionKey"], row["RowKey"].partition(":")[0]) for row in rows if row["PartitionKey"] == "catalog"}
    assert kinds == {("catalog", "generation"), ("catalog", "index"), ("catalog", "source")}
    assert {row["state"] for row in rows if "state" in row} == {"building", "standby", "retired"}
    bookmarks = {(row["PartitionKey"], row["RowKey"]) for row in rows if row["PartitionKey"] != "catalog"}
    assert bookmarks == {
        ("expiry", "0208975fa78f3abb INDEX_STORAGE"),
        ("retention", "customers"),
        ("retention", "devices"),
        ("retention", "orders"),
        ("retention", "prices"),
        ("retention", "visits"),
        ("sample", "7f87798b601cdba2"),
    }
    assert row_of(rows, "catalog", "index:by-town") == {
        "PartitionKey": "catalog",
        "RowKey": "index:by-town",
        "serving": "2c877c5871cb1a61",
        "before": "f5fc5c4ef10b898a",
        "since": 1_800_001_333.0,
        "since@odata.type": "Edm.Double",
    }


async def test_a_bookmark_in_the_middle() -> None:
    """With the place of its query."""
    tables = of.MemoryTables()
    await tables.create_table("Catalog")
    await of.Bookmarks(tables, "expiry").keep("name", of.Bookmark(2, of.Continuation("p", "r"), 5))
    row = await tables.get("Catalog", "expiry", "name")
    assert row is not None
    keys = {"PartitionKey": "expiry", "RowKey": "name"}
    assert row.entity == {**keys, "stretch": 2, "partition": "p", "row": "r", "endedAt": 5}


def test_rows_of_tasks(tables: dict[str, Rows]) -> None:
    """What a task is about, and where its slices are, as JSON."""
    rows = tables["Tasks"]
    assert {row["kind"] for row in rows if row["PartitionKey"] == "tasks"} == {"build", "verification"}
    assert {row["phase"] for row in rows if "phase" in row} == {"1-facts", "2-rest", "1-verify"}
    build = row_of(rows, "tasks", "build-8bfcd2f73f78d9b7-1")
    assert json.loads(build["about"]) == {"index": "by-team", "generation": "8bfcd2f73f78d9b7", "budget": None}
    verification = row_of(rows, "tasks", "verification-e1940b7fb54c4264-1800001502")
    asked = {"sample": None, "repairs": False, "reconciles": False, "budget": 50}
    assert json.loads(verification["about"]) == {"index": "placed", "generation": "e1940b7fb54c4264", **asked}
    positions = {(row["PartitionKey"], row["RowKey"]): row.get("position") for row in rows if "phase" in row}
    assert positions["build-8bfcd2f73f78d9b7-1", "1-facts:000"] == '["all", "bob !"]'
    assert positions["build-c61f08fae0b8f885-1", "2-rest:002"] == '[6, null, ["hal !hal !"]]'
    assert positions["verification-e1940b7fb54c4264-1800001502", "1-verify:all"] == "sum"
    counts = [json.loads(row["counts"]) for row in rows if "counts" in row]
    assert {name for counted in counts for name in counted} == {
        *("facts", "letters", "entries", "transactions", "checked", "behind", "unbuilt"),
        *("ledgerRows", "rows", "tombstones", "examined", "repaired", "swept"),
    }


async def test_a_task_that_failed() -> None:
    """With its problem."""
    tables = of.MemoryTables()
    rows = of.TaskRows(tables)
    await rows.create()
    await rows.save_task(of.Task("t", "build", {"a": 1}, 1, 2, "failed", 3, "why"))
    await rows.save(of.Slice("t", "s", "1-facts"))
    task, task_slice = await tables.get("Tasks", "tasks", "t"), await tables.get("Tasks", "t", "s")
    assert task is not None
    assert task_slice is not None
    assert task.entity == {
        "PartitionKey": "tasks",
        "RowKey": "t",
        "kind": "build",
        "about": '{"a": 1}',
        "startedAt": 1.0,
        "notBefore": 2.0,
        "state": "failed",
        "endedAt": 3.0,
        "problem": "why",
    }
    keys = {"PartitionKey": "t", "RowKey": "s"}
    assert task_slice.entity == {**keys, "phase": "1-facts", "isDone": False, "counts": "{}", "claimedUntil": 0.0}


def test_rows_of_the_ledger(tables: dict[str, Rows]) -> None:
    """States are lists: generation, version, failures, current entries, removed entries."""
    row = row_of(tables["Ledger"], "devices-006", 's ! "=1 !lamp !')
    newest, before = "000000170000050300000000000000000030534d81ce", "000000170000050100000000000000000010ef2ce26a"
    current, removed = ["L !", "false !", 0, "579dbd6cd2bb441a"], ["L !", "true !", before]
    assert row["parts"] == {"deflated": [["83c4d6520b021a49", newest, 0, [current], [removed]]]}
    assert row["mark"] == "d-3"
    gus = row_of(tables["Ledger"], "customers-008", "gus !gus !")
    failures = {generation: failed for generation, _, failed, _, _ in gus["parts"]["deflated"]}
    assert {generation for generation, failed in failures.items() if failed == 1} == {"7f87798b601cdba2"}


def test_a_ledger_row_in_the_bytes_of_the_old_tree() -> None:
    """Compressed then, read now, and written again."""
    parts = b64decode(PARTS_OF_LAMP)
    entity: dict[str, Any] = {"PartitionKey": "devices-006", "RowKey": 's ! "=1 !lamp !', "mark": "d-3", "parts": parts}
    row = of.decode_ledger_row(entity)
    (generation,) = row.states
    assert generation == "83c4d6520b021a49"
    again = of.encode_ledger_row(row, entity["PartitionKey"], entity["RowKey"])
    assert of.decode_ledger_row(again) == row
    assert set(again) == set(entity)


def test_rows_of_verifications(tables: dict[str, Rows]) -> None:
    """The state, with its report and its cursor, as JSON."""
    done = row_of(tables["Verifications"], "devices-by-model", "verification-83c4d6520b021a49-1800001502")
    half_way = row_of(tables["Verifications"], "placed", "verification-e1940b7fb54c4264-1800001502")
    state = done["state"]["deflated"]
    assert set(state) == {"phase", "scan", "cursor", "report", "suspects", "openFrom", "isSecondSum"}
    assert set(state["report"]) == {
        *("facts", "ledgerRows", "rows", "entries", "tombstones", "masked", "examined", "behind", "deadLetters"),
        *("repaired", "unrepaired", "swept", "differences", "total", "examples"),
    }
    (example,) = state["report"]["examples"]
    assert set(example) == {"kind", "factKey", "id", "partitionKey", "PartitionKey", "RowKey", "version"}
    position = {name: half_way["state"]["deflated"][name] for name in ("phase", "scan", "cursor")}
    assert position == {"phase": "sum", "scan": 0, "cursor": ["fay !", 1_800_001_502.0]}


def test_rows_of_the_status(tables: dict[str, Rows]) -> None:
    """Counters per instance and of those that are gone, and lag."""
    keys = [(row["PartitionKey"], row["RowKey"]) for row in tables["Status"]]
    assert keys == [("counters", "!sum"), ("counters", "instance-2"), ("history", "lag")]
    counts = row_of(tables["Status"], "counters", "instance-2")["counts"]["deflated"]
    assert ["source", "orders", "dead_letters", 3] in counts
    assert ["index", "by-name", "entries_written", 11] in counts
    assert ["account", "INDEX_2", "lookups", 1] in counts
    names = {what for kind, _, what, _ in counts if kind in ("source", "index")}
    assert names == {"received", "applied", "dead_letters", "entries_written", "entries_removed"}


# ---------------------------------------------------------------------------------------------------- messages


def test_messages(written: dict[str, Any]) -> None:
    """A tombstone has five fields, an expired entry eight; a task's message names its slice."""
    named = [fields for message in written["queues"]["index-sweep"] for fields in message]
    version = "000000170000050300000000000000000030534d81ce"
    lamp = ["INDEX_STORAGE", "devicesbymodel83c4d6520b021a49", "L !", 'true !s ! "=1 !lamp !', version]
    assert lamp in named
    (expired,) = [fields for fields in named if len(fields) != 5]
    place = ["INDEX_STORAGE", "expiring0208975fa78f3abb", "Zürich ☃ !"]
    ledger = ["0208975fa78f3abb", "customers-002", "eva !eva !"]
    assert expired == [*place, "eva !eva !", "0000001700000009000000000000000000900870734a", *ledger]
    text = json.dumps([lamp, expired], ensure_ascii=False, separators=(",", ":"))
    assert list(of.to_messages(of.from_message(text))) == [text]
    tasks = [message for message, _ in written["queues"]["index-tasks"]]
    assert {"kind": "build", "id": "build-8bfcd2f73f78d9b7-1", "slice": "1-facts:000"} in tasks


def test_names_of_blobs(written: dict[str, Any]) -> None:
    """Source, dead letter, version, and a name of its own."""
    (name,) = written["blobs"]
    version = "1800000006000000000000000000000000601b70e11d"
    assert name == f"orders/34eee43e8b37870a0f70741e5860571f/{version}/1"
