"""The Table service sorts RowKeys as the codec says it does."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest
from azure.data.tables import TableClient
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from shared.definitions.model import Index
from shared.entries.keys.fact_key import encode_fact_key
from shared.entries.keys.index_keys import IndexKeys, row_key
from tests.property.strategies import long_texts, parts_with_values, texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shared.definitions.model import KeyPart, PartValue

_PARTITIONS = count()
_VERSION = "0" * 36 + "0123abcd"


@pytest.fixture(scope="module")
def table(azurite: str) -> Iterator[TableClient]:
    """One table of the real emulator."""
    with TableClient.from_connection_string(azurite, "keyorder") as client:
        client.create_table()
        yield client


def stored(table: TableClient, rows: set[str]) -> list[str]:
    """The rows as the service gives them back, after writing them in one transaction.

    Azurite takes a RowKey that begins with a comma for a part of the PartitionKey (docs/local.md).
    """
    assume(not any(row.startswith(",") for row in rows))
    partition = f"p{next(_PARTITIONS)}"
    table.submit_transaction([("upsert", {"PartitionKey": partition, "RowKey": row}) for row in rows])
    return [entity["RowKey"] for entity in table.query_entities(f"PartitionKey eq '{partition}'")]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(parts_with_values(count=20))
def test_azurite_sorts_row_keys_by_the_values_that_they_encode(
    table: TableClient, drawn: tuple[tuple[KeyPart, ...], list[tuple[PartValue | None, ...]]]
) -> None:
    """The pages that lookups read stand in the codec's order, and every key comes back as written."""
    key, tuples = drawn
    keys = IndexKeys(Index(name="i", source="s", partition=key, sort=key))
    rows = {row_key(keys.sort(values) + encode_fact_key(["c-1"], "42"), _VERSION) for values in tuples}
    assert stored(table, rows) == sorted(rows, key=lambda row: row.encode("utf-16-be"))


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(texts | long_texts, min_size=1, max_size=10))
def test_azurite_keeps_any_fact_key_as_it_is(table: TableClient, ids: list[str]) -> None:
    """Also over-long ones and those full of characters that a key may not contain."""
    rows = {encode_fact_key([fact_id, 7, None], fact_id) for fact_id in ids}
    assert set(stored(table, rows)) == rows
