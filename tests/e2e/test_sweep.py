"""Tombstones go when their time has come, with all that they hide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from azure.cosmos import CosmosClient
from azure.data.tables import TableServiceClient

from tests.e2e import runs
from tests.support import wait_until

if TYPE_CHECKING:
    from pathlib import Path


def test_a_moved_fact_leaves_no_row_behind(tmp_path: Path) -> None:
    """First a tombstone hides the old place; after the sweep delay the table has nothing but the new row."""
    with runs.ready(tmp_path / "data", "--no-samples", environment={"SWEEP_DELAY_SECONDS": "4"}) as (_, found):
        client = CosmosClient(found["cosmos"]["endpoint"], found["cosmos"]["key"])
        customers = client.get_database_client("shop").get_container_client("customers")
        service = TableServiceClient.from_connection_string(found["storage"]["connectionString"])
        (name,) = [table.name for table in service.list_tables() if table.name.startswith("customersbytown")]
        table = service.get_table_client(name)

        def rows() -> list[tuple[str, bool]]:
            return sorted((row["PartitionKey"], bool(row.get("_gone"))) for row in table.list_entities())

        fact = {"id": "1", "customerId": "1", "town": "Here", "lastName": "L", "firstName": "F"}
        customers.upsert_item(fact)
        wait_until(lambda: rows() == [("Here !", False)], "the fact is there")
        customers.upsert_item({**fact, "town": "There"})
        wait_until(lambda: rows() == [("Here !", True), ("There !", False)], "a tombstone and the new row")
        wait_until(lambda: rows() == [("There !", False)], "the tombstone was swept")
