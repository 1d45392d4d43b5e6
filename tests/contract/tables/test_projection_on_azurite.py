"""Entries in the Table service: what an outside reader finds there is what was projected."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from azure.data.tables import EdmType, EntityProperty, TableClient
from hypothesis import HealthCheck, example, given, settings

from shared.definitions.loading.load import load
from shared.entries.changes.cosmos_changes import CosmosReader
from shared.entries.keys.index_keys import row_key
from shared.entries.projection.projector import Projector
from shared.entries.rows.columns import read_columns
from tests.property.strategies import documents

if TYPE_CHECKING:
    from collections.abc import Iterator

_IDS = count()
DEFINITIONS = load("""
version: 1
sources: {facts: {cosmos: {database: d, container: c}, partitionKey: pk}}
indexes: {everything: {source: facts, partition: {path: pk}, sort: {path: id}, project: all}}
""").require()
SOURCE = DEFINITIONS.sources["facts"]
READER = CosmosReader(SOURCE)
PROJECTOR = Projector(DEFINITIONS.indexes["everything"], SOURCE)


@pytest.fixture(scope="module")
def table(azurite: str) -> Iterator[TableClient]:
    """One table of the real emulator."""
    with TableClient.from_connection_string(azurite, "projection") as client:
        client.create_table()
        yield client


def written(value: Any) -> Any:
    """The SDK takes a plain int for 32 bits."""
    return EntityProperty(value, EdmType.INT64) if type(value) is int else value


def read(value: Any) -> Any:
    return value.value if isinstance(value, EntityProperty) else value


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(documents)
@example({"double": 5.0, "whole": 5, "large": 2**53 + 1, "minus": -0.0, "text": "5", "flag": True, "nothing": None})
@example({"line": "\u2028", "control": "\x01\x7f\x85", "edge": "\ufffe\uffff", "long": "\U0001f600" * 40_000})
@example(
    {
        "date": "2024-05-01T12:00:00Z",
        "guid": "6f9619ff-8b86-d011-b42d-00c04fc964ff",
        "empty": "",
        "blank": "  ",
    }
)
def test_a_projected_document_comes_back_from_the_service_as_it_was(
    table: TableClient, document: dict[str, Any]
) -> None:
    """For arbitrary JSON, through the real SDK and the real emulator."""
    fact = {**document, "id": f"f{next(_IDS)}", "pk": "p", "_ts": 1, "_lsn": 1}
    change = READER.latest(fact)
    (entry,) = PROJECTOR.project(change)
    row = row_key(entry.entry_key, change.version)
    keys = {"PartitionKey": entry.partition_key, "RowKey": row}
    table.upsert_entity({**keys, **{name: written(value) for name, value in entry.columns.items()}})
    back = {name: read(value) for name, value in table.get_entity(entry.partition_key, row).items()}
    stored = read_columns(back)
    wanted = {name: value for name, value in fact.items() if name not in ("_ts", "_lsn")}
    wanted = {name: value for name, value in wanted.items() if name not in ("_rid", "_self", "_etag", "_attachments")}
    assert json.dumps(stored.document, sort_keys=True) == json.dumps(wanted, sort_keys=True)
    assert (stored.id, stored.partition_key, stored.key["pk"]) == (fact["id"], ("p",), "p")
