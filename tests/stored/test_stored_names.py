"""Names and literals that are stored, spelled out: no rename in the code may change one.

Two nets. The first compares everything that this tree stores with what an earlier tree stored. The second says in
short literals what that is, for the reader, and for what the first does not reach.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from tests.stored import app as of
from tests.stored.snapshot import Rows, read_snapshot, row_of, without_prose
from tests.stored.texts import FIRST
from tests.support import ROOT

# The columns of the pipeline's own tables, in all kinds of rows together.
COLUMNS = {
    "Catalog": {
        *("PartitionKey", "RowKey", "index", "source", "table", "state", "enteredAt", "startsAt", "unbuilt"),
        *("definition", "sourceDefinition", "build", "builtAt", "verifiedAt", "differences"),
        *("unwantedAt", "retiredAt", "droppedAt", "readOnlyAt"),
        *("serving", "before", "since", "buckets", "stretch", "endedAt"),
    },
    "DeadLetters": {
        *("PartitionKey", "RowKey", "index", "kind", "reason", "version", "failedAt"),
        *("via", "mark", "blob", "document", "_fact"),
    },
    "Ledger": {"PartitionKey", "RowKey", "parts", "mark", "deletedAt", "expiredAt"},
    "Status": {"PartitionKey", "RowKey", "since", "writtenAt", "counts", "points"},
    "Tasks": {
        *("PartitionKey", "RowKey", "kind", "about", "startedAt", "notBefore", "state", "endedAt"),
        *("phase", "isDone", "counts", "claimedUntil", "position"),
    },
    "Verifications": {
        *("PartitionKey", "RowKey", "state", "sketch", "sketch1", "sketch2", "sketch3"),
        *("sketch4", "sketch5", "sketch6", "sketch7"),
    },
}
OWN_COLUMNS_OF_ENTRIES = {"_fact", "_key", "_json", "_expires", "_gone"}
TABLES = {
    "by-town": "bytownf5fc5c4ef10b898a",
    "by-name": "byname7f87798b601cdba2",
    "by-team": "byteam95af9dd193358947",
    "by-kind": "bykind676bd21cba95f197",
    "placed": "placede1940b7fb54c4264",
    "listed": "listed5180df5c369d4632",
    "ranged": "rangedfcf9bc9c07213f56",
    "expiring": "expiring0208975fa78f3abb",
    "by-month": "bymonth53ad5c95a3af0d0f",
    "former": "former92c33936329cb845",
    "devices-by-model": "devicesbymodel83c4d6520b021a49",
    "orders-by-status": "ordersbystatus9eeb76a270bad61c",
    "prices-by-item": "pricesbyitem25a4c77eaee65ca5",
    "visits-by-page": "visitsbypage56bd6c57fce1cdfc",
}
GENERATIONS_OF_SAMPLE = {
    "customers-by-town": "49f216b20bc1f206",
    "customers-by-name": "dd9cd6b05296bc02",
    "movies-by-actor": "98c06dd283697d8d",
    "movies-newest-first": "65dc6c90178d0666",
    "orders-newest-first": "96bf999e92973e72",
    "order-totals": "6ee1fef3bbda99aa",
}


VERSIONS_AND_FACT_KEYS = [
    ("000000170000000100000000000000000420969673b4", "f !f !"),
    ("1800000000000000000000000000000000305a5a5331", "c !o !"),
    ("18000000000000000000000000000000004100000000", "c !o !"),
    ("000000000000000639343584005000000000eb91648f", ' "=7 !p !'),
]


def columns_of(rows: Rows) -> set[str]:
    """The columns of some rows."""
    return {name for row in rows for name in row if "@" not in name}


# ---------------------------------------------------------------------------------------------------- all of it


@pytest.mark.parametrize("section", ["accounts", "blobs", "queues", "facts", "events", "seconds", "writes"])
def test_this_tree_stores_what_the_old_one_stored(written: dict[str, Any], section: str) -> None:
    """Every table, row, column, type and value; every blob and message. Only sentences for people may differ."""
    new, old = without_prose(written)[section], without_prose(read_snapshot())[section]
    if section == "accounts":
        for account, tables in old.items():
            assert sorted(new[account]) == sorted(tables)
            for table, rows in tables.items():
                assert new[account][table] == rows, f"{account} {table}"
    assert new == old


# ---------------------------------------------------------------------------------------------------- names


def test_names_of_tables(tables: dict[str, Rows]) -> None:
    """The pipeline's own, those of generations, and those of periods."""
    own = {"Catalog", "DeadLetters", "Ledger", "Status", "Tasks", "Verifications"}
    built = {"bytown2c877c5871cb1a61", "byteam8bfcd2f73f78d9b7", "bykindc61f08fae0b8f885"}
    standby = {"ordersbystatusfbec98cb9923a5c1"}
    months = {f"bymonth53ad5c95a3af0d0fp2027{month}01" for month in ("01", "02", "03", "04")}
    days = {f"visitsbypage56bd6c57fce1cdfcp202701{day}" for day in ("15", "16", "17")}
    dropped = {"former92c33936329cb845"}
    assert set(tables) == own | ({*TABLES.values()} - dropped) | built | standby | months | days


def test_names_of_columns(tables: dict[str, Rows]) -> None:
    """Of the pipeline's own tables, and our own columns in entries."""
    assert {table: columns_of(tables[table]) for table in COLUMNS} == COLUMNS
    entries = [row for table, rows in tables.items() if table not in COLUMNS for row in rows]
    assert {name for name in columns_of(entries) if name.startswith("_")} == OWN_COLUMNS_OF_ENTRIES
    assert (of.FACT, of.KEY, of.REST, of.REFERENCE, of.EXPIRES) == ("_fact", "_key", "_json", "_ref", "_expires")


def test_names_of_queues_containers_and_consumer_groups() -> None:
    """They are made by templates, too."""
    assert (of.SWEEP_QUEUE, of.TASK_QUEUE) == ("index-sweep", "index-tasks")
    assert (of.DEAD_LETTER_CONTAINER, of.LEASE_CONTAINER) == ("dead-letters", "leases")
    groups = of.EVENT_CONSUMER_GROUP, of.EVENT_LAG_GROUP, of.REPLAY_CONSUMER_GROUP
    assert groups == ("index-tables", "index-tables-lag", "$Default")
    sources = of.definitions_of(FIRST).sources
    prefixes = [of.trigger_prefix(sources[name], "account") for name in ("customers", "devices")]
    assert prefixes == ["account-customers-", "account-devices-all-"]


def test_literals_of_states_and_kinds() -> None:
    """As columns and counters have them."""
    assert set(get_args(of.GenerationState)) == {"building", "standby", "serving", "retired"}
    assert set(get_args(of.TaskState)) == {"running", "done", "failed"}
    assert set(get_args(of.VerificationPhase)) == {"sum", "told", "look", "done"}
    assert set(get_args(of.DifferenceKind)) == {"missing", "stale", "ghost", "unapplied", "orphan"}
    assert set(get_args(of.ArrivedBy)) == {"feed", "event"}
    assert set(get_args(of.FailureKind)) == {
        *("wrongType", "notEvaluable", "notJson", "tooManyEntries"),
        *("tooLarge", "ledgerRowTooLarge", "unreadable"),
    }
    assert set(get_args(of.CounterKind)) == {"source", "index", "table", "account"}
    assert set(get_args(of.Purpose)) == {"changes", "lookups", "operations"}
    assert set(of.SOURCE_COUNTS) == {
        *("received", "applied", "dropped", "redelivered", "dead_letters", "ignored", "transactions"),
        *("dropped_with_higher_lsn", "dead_letters_not_kept"),
    }


# ---------------------------------------------------------------------------------------------------- definitions


@pytest.mark.parametrize("index", TABLES)
def test_ids_of_generations_and_their_tables(index: str) -> None:
    """An id that changes builds every index anew."""
    definitions = of.definitions_of(FIRST)
    found = definitions.indexes[index]
    identity = of.generation_id(found, definitions.sources[found.source])
    assert of.table_name(found, identity) == TABLES[index]
    assert identity == TABLES[index][-16:]
    assert of.table_name(found, identity, 2) == f"{TABLES[index]}r2"


def test_ids_of_the_sample_definitions() -> None:
    """Those that a new app starts with."""
    sample = of.load((ROOT / "indexes.yaml").read_text(), "indexes.yaml").require()
    ids = {name: of.generation_id(index, sample.sources[index.source]) for name, index in sample.indexes.items()}
    assert ids == GENERATIONS_OF_SAMPLE


def test_definitions_in_the_catalog(tables: dict[str, Rows]) -> None:
    """Their names are stored as they are in the code: another name could not read them."""
    row = row_of(tables["Catalog"], "catalog", "generation:676bd21cba95f197")
    part = {"path": "kind", "name": "kind", "type": "string", "order": "asc", "fold": False, "keeps_nulls": False}
    assert json.loads(row["definition"]) == {
        "name": "by-kind",
        "source": "customers",
        "partition": [part],
        "sort": [{**part, "path": "name", "name": "name", "order": "desc"}],
        "project": "keys",
        "each": None,
        "where": None,
        "shards": 3,
        "hot": [["vip", 5]],
        "expire": None,
        "placement": None,
    }
    assert json.loads(row["sourceDefinition"]) == {
        "name": "customers",
        "cosmos": {"database": "shop", "container": "customers"},
        "event_hub": None,
        "id": "id",
        "partition_key": ["id"],
        "version": None,
        "deleted_when": "gone",
        "all_versions": False,
    }
    definitions = [json.loads(row["definition"]) for row in tables["Catalog"] if "definition" in row]
    placements = {definition["name"]: definition["placement"] for definition in definitions if definition["placement"]}
    empty: dict[str, Any] = {"accounts": [], "values": [], "default": None, "slices": []}
    assert placements == {
        "placed": {**empty, "by": "hash", "accounts": ["INDEX_STORAGE", "INDEX_2"]},
        "listed": {**empty, "by": "list", "values": [["Redmond", "INDEX_2"]], "default": "INDEX_STORAGE"},
        "ranged": {
            **empty,
            "by": "range",
            "slices": [
                {"start": None, "end": "m", "account": "INDEX_STORAGE"},
                {"start": "m", "end": None, "account": "INDEX_2"},
            ],
        },
    }
    by_name = {definition["name"]: definition for definition in definitions}
    assert by_name["by-month"]["expire"] == {"path": "seen", "after_seconds": 5_184_000, "tables": "month"}
    assert by_name["by-team"]["each"] == {"name": "team", "path": "teams"}


# ---------------------------------------------------------------------------------------------------- keys


def test_versions_of_fixed_changes() -> None:
    """By the clock of Cosmos DB, of a hub, and of the fact itself."""
    sources = of.definitions_of(FIRST).sources
    document = {"id": "f", "town": "Oslo", "_ts": 1_700_000_001, "_lsn": 42, "_etag": "e"}
    enqueued = datetime(2027, 1, 15, 8, tzinfo=UTC)
    order = b'{"op":"upsert","id":"o","partitionKey":"c","document":{"id":"o","customer":{"id":"c"}}}'
    delete = b'{"op":"delete","id":"o","partitionKey":"c"}'
    price = b'{"op":"upsert","document":{"id":"p","shop":7,"revision":"2027-01-01T00:00:00.5Z"}}'
    changes = [
        of.CosmosReader(sources["customers"]).latest(document),
        of.EventReader(sources["orders"]).read(order, enqueued, 3),
        of.EventReader(sources["orders"]).read(delete, enqueued, 4),
        of.EventReader(sources["prices"]).read(price, enqueued, 5),
    ]
    assert [(change.version, change.fact_key) for change in changes] == VERSIONS_AND_FACT_KEYS


def test_keys_of_fixed_facts() -> None:
    """Which row of which bucket a fact has in the ledger, and the id of its dead letter."""
    keys = [
        of.encode_fact_key(("a",), "1"),
        of.encode_fact_key((7, None, True, of.MISSING), "a/b #?"),
        of.encode_fact_key(("x" * 600,), "1"),
    ]
    assert keys[:2] == ["a !1 !", ' "=7 ! "=null ! "=true ! "=none !a.\uffeeb $"\uffee>\uffee !']
    assert [of.ledger_partition("s", of.fact_hash(key), 16) for key in keys] == ["s-002", "s-010", "s-013"]
    assert of.dead_letter_id("s", "a !1 !", "by-town") == "10af6eef4d9f53285b5c1cfcc6539c57"


def test_keys_of_entries(tables: dict[str, Rows]) -> None:
    """Partition parts, shard and period; sort parts, fact key and inverted version."""

    def keys(table: str) -> list[tuple[str, str]]:
        return [(row["PartitionKey"], row["RowKey"]) for row in tables[table] if "_gone" not in row]

    ann = "ann !ann !ffffffe8fffffffbffffffffffffffffffbf3ae1703e"
    assert ("Oslo !", f"Ann !{ann}") in keys("bytown2c877c5871cb1a61")
    gus = "ffb8ff8aff8cx !gus !gus !ffffffe8ffffffeefffffffffffffffffeef2156dae9"
    assert ("000 vip !", gus) in keys("bykind676bd21cba95f197")
    cid = "cid !cid !ffffffe8fffffffcffffffffffffffffffcf84ad7d7f"
    assert ("20270201 Oslo !", cid) in keys("bymonth53ad5c95a3af0d0fp20270201")
    assert ("ann !", f"-y59~ !A !{ann}") in keys("byname7f87798b601cdba2")
    paid = "7972-98-84T92:99:99~ !c-1 !o-1 !e7fffffffcffffffffffffffffffffffffcf20238fd4"
    assert ("paid !", paid) in keys("ordersbystatus9eeb76a270bad61c")
