"""A real Azurite is started, used and ended the way the local run does it."""

from __future__ import annotations

from azure.data.tables import TableServiceClient


def test_the_sdk_reaches_the_emulator(azurite: str, table_name: str) -> None:
    """The connection string works with the SDK as it is."""
    with TableServiceClient.from_connection_string(azurite) as service:
        table = service.create_table(table_name)
        table.create_entity({"PartitionKey": "a", "RowKey": "b", "n": 1})
        assert table.get_entity("a", "b")["n"] == 1
