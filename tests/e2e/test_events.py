"""Facts that arrive as events show up in the index tables; what cannot be read becomes a dead letter."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from azure.cosmos import CosmosClient
from azure.data.tables import TableClient
from azure.eventhub import EventData, EventHubProducerClient

from tests.e2e import runs
from tests.e2e.outside_reader import entries
from tests.support import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFINITIONS = """
version: 1
sources:
  orders: {eventHub: orders, partitionKey: customer.id, version: revision}
  visits: {eventHub: visits}
  carts: {cosmos: {database: test, container: carts}, eventHub: carts, partitionKey: shop, version: revision}
indexes:
  orders-by-status: {source: orders, partition: status, sort: [{path: total, type: number}], project: [total]}
  visits-by-page: {source: visits, partition: page, project: all}
  carts-by-owner: {source: carts, partition: owner, project: [items]}
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A local run; its endpoints."""
    folder = tmp_path_factory.mktemp("events")
    (folder / "indexes.yaml").write_text(DEFINITIONS)
    with runs.ready(folder / "data", "--definitions", str(folder / "indexes.yaml")) as (_, endpoints):
        yield endpoints


def send(found: dict[str, Any], hub: str, *events: Any) -> None:
    """Events with one partition key: bytes as they are, anything else as JSON."""
    connection = found["eventHubs"]["connectionString"]
    with EventHubProducerClient.from_connection_string(connection, eventhub_name=hub) as producer:
        batch = producer.create_batch(partition_key="k")
        for event in events:
            batch.add(EventData(event if isinstance(event, bytes) else json.dumps(event)))
        producer.send_batch(batch)


def order(number: int, revision: int, status: str, total: float, op: str = "upsert") -> dict[str, Any]:
    """A version of an order, in the plain envelope."""
    document = {"id": f"o{number}", "customer": {"id": "c1"}, "revision": revision, "status": status, "total": total}
    envelope = {"source": "orders", "op": op, "id": f"o{number}", "partitionKey": "c1", "version": revision}
    return {**envelope, "document": document} if op == "upsert" else envelope


def statuses(found: dict[str, Any]) -> dict[str, str]:
    """Status by order."""
    rows = entries(found["storage"]["connectionString"], "orders-by-status")
    return {row["id"]: row["key"]["status"] for row in rows}


def test_events_are_indexed_moved_and_deleted(found: dict[str, Any]) -> None:
    """Through the same path as facts of Cosmos DB."""
    send(found, "orders", order(1, 1, "open", 10), order(2, 1, "open", 20))
    wait_until(lambda: statuses(found) == {"o1": "open", "o2": "open"}, "both orders")
    send(found, "orders", order(1, 2, "paid", 10), order(2, 2, "", 0, op="delete"))
    wait_until(lambda: statuses(found) == {"o1": "paid"}, "one paid, one gone")


def test_repeated_and_disordered_events_converge(found: dict[str, Any]) -> None:
    """Declared versions decide, not the order of arrival."""
    versions = [order(number, revision, f"s{revision}", 1) for number in range(10, 20) for revision in range(1, 6)]
    shuffled = versions + versions
    random.Random(7).shuffle(shuffled)
    for start in range(0, len(shuffled), 25):
        send(found, "orders", *shuffled[start : start + 25])
    expected = {f"o{number}": "s5" for number in range(10, 20)}
    wait_until(lambda: expected.items() <= statuses(found).items(), "every order at its newest version")


def test_cloud_events_are_read(found: dict[str, Any]) -> None:
    """Structured mode, with the version from the hub's own clock."""
    send(
        found,
        "visits",
        {"specversion": "1.0", "type": "site.visit.upserted", "subject": "v1", "data": {"id": "v1", "page": "/home"}},
    )
    storage = found["storage"]["connectionString"]
    wait_until(lambda: [row["id"] for row in entries(storage, "visits-by-page")] == ["v1"], "the visit")


def test_what_cannot_be_read_becomes_a_dead_letter_and_delays_nothing(found: dict[str, Any]) -> None:
    """Not JSON, no operation, no id, a contradiction: four dead letters, and the good event lands."""
    contradiction = {**order(30, 1, "x", 1), "id": "other"}
    nameless = {"op": "upsert", "document": {"status": "x", "revision": 1, "customer": {"id": "c1"}}}
    bad = [b"\xff not json", {"op": "destroy"}, nameless, contradiction]
    send(found, "orders", *bad, order(31, 1, "good", 1))
    wait_until(lambda: statuses(found).get("o31") == "good", "the good one")
    with TableClient.from_connection_string(found["storage"]["connectionString"], "DeadLetters") as table:
        reasons = [str(dead_letter["reason"]) for dead_letter in table.query_entities("PartitionKey eq 'orders'")]
    assert len(reasons) == 4
    for part in ("not JSON", '"op" is', "is not an id", "let them agree"):
        assert any(part in reason for reason in reasons), part


def test_a_source_with_a_container_and_a_hub_takes_the_newest_of_both(found: dict[str, Any]) -> None:
    """The declared version is the one clock of both."""
    storage = found["storage"]["connectionString"]

    def owners() -> set[str]:
        return {row["key"]["owner"] for row in entries(storage, "carts-by-owner")}

    client = CosmosClient(found["cosmos"]["endpoint"], found["cosmos"]["key"])
    container = client.get_database_client("test").get_container_client("carts")
    container.upsert_item({"id": "1", "shop": "s", "owner": "ann", "revision": 2, "items": 1})
    wait_until(lambda: owners() == {"ann"}, "from Cosmos DB")
    newer = {"id": "1", "shop": "s", "owner": "bo", "revision": 3, "items": 2}
    older = {"id": "1", "shop": "s", "owner": "cy", "revision": 1, "items": 0}
    send(found, "carts", {"op": "upsert", "document": newer}, {"op": "upsert", "document": older})
    wait_until(lambda: owners() == {"bo"}, "the newer event")
