"""The wire client and azure-data-tables, the outside reader, write and read the same rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from azure.data.tables import EdmType, EntityProperty, TableServiceClient

from shared.tables.port import Insert, RowRange
from tests.contract.tables.table_services import key_client
from tests.contract.tables.test_tables import HOSTILE_KEYS, ONE_OF_EACH, entity

if TYPE_CHECKING:
    from shared.tables.port import Entity


def as_sdk_writes(ours: Entity) -> dict[str, object]:
    """The SDK takes a plain int for 32 bits."""
    return {name: EntityProperty(value, EdmType.INT64) if type(value) is int else value for name, value in ours.items()}


def as_sdk_reads(value: object) -> object:
    """The SDK reads 64-bit integers with their type beside them."""
    return value[0] if isinstance(value, tuple) else value


async def test_the_sdk_reads_what_we_write(azurite: str, table_name: str) -> None:
    """Every value of every type, under every hostile key."""
    rows = [{**entity(key), **ONE_OF_EACH} for key in HOSTILE_KEYS]
    async with key_client(azurite) as client:
        await client.create_table(table_name)
        await client.transact(table_name, [Insert(row) for row in rows])
    with TableServiceClient.from_connection_string(azurite) as service:
        found = {
            str(row["RowKey"]): {name: as_sdk_reads(value) for name, value in row.items()}
            for row in service.get_table_client(table_name).list_entities()
        }
    assert found == {row["RowKey"]: row for row in rows}


async def test_we_read_what_the_sdk_writes(azurite: str, table_name: str) -> None:
    """The same the other way round, by point read and by query, with the SDK's ETag."""
    etags = {}
    with TableServiceClient.from_connection_string(azurite) as service:
        table = service.create_table(table_name)
        for key in HOSTILE_KEYS:
            written = table.create_entity(as_sdk_writes({**entity(key), **ONE_OF_EACH}))
            etags[key] = written["etag"]
    async with key_client(azurite) as client:
        page = await client.query(table_name, RowRange("p"))
        points = [await client.get(table_name, "p", key) for key in HOSTILE_KEYS]
    assert {row.entity["RowKey"]: row.etag for row in page.rows} == etags
    assert all({**row.entity, "RowKey": ""} == {**entity(""), **ONE_OF_EACH} for row in page.rows)
    assert points == sorted(page.rows, key=lambda row: HOSTILE_KEYS.index(str(row.entity["RowKey"])))


async def test_values_that_only_others_write_are_readable(azurite: str, table_name: str) -> None:
    """Small integers are integers; dates and GUIDs are text."""
    with TableServiceClient.from_connection_string(azurite) as service:
        service.create_table(table_name).create_entity(
            {
                **entity("r"),
                "small": 7,
                "when": EntityProperty("2026-01-02T03:04:05Z", EdmType.DATETIME),
                "nan": math.nan,
            }
        )
    async with key_client(azurite) as client:
        row = await client.get(table_name, "p", "r")
    assert row is not None
    assert row.entity["small"] == 7
    assert str(row.entity["when"]).startswith("2026-01-02T03:04:05")
    assert str(row.entity["nan"]) == "nan"
