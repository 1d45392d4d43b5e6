"""A shop whose container a Cosmos DB trigger watches, and what its function saw."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from azure.cosmos import CosmosClient, PartitionKey

from shared.sources import trigger_leases
from shared.sources.feed_tokens import new_token
from tests.support import json_lines

if TYPE_CHECKING:
    from pathlib import Path

    from azure.cosmos import ContainerProxy, DatabaseProxy

    from shared.sources.trigger_leases import LeasePosition
    from tests.contract.cosmos.server import LocalCosmos

# Each batch is appended to a file of the host's own: what the function saw, in the order in which it saw it.
TRIGGER = """
@app.cosmos_db_trigger(arg_name="docs", connection="COSMOS", database_name="shop", container_name="%CONTAINER%",
    lease_container_name="leases", lease_container_prefix="%PREFIX%", max_items_per_invocation=20, feed_poll_delay=50,
    start_from_beginning=BEGINNING, change_feed_mode="MODE")
RETRY
async def changed(docs: func.DocumentList, context: func.Context) -> None:
    for doc in docs:
        seen = doc.to_dict()
        if seen.get("poison"):
            logging.info("poison, retry %d", context.retry_context.retry_count)
            raise ValueError("planted")
    with open(os.environ["SEEN"], "a") as file:
        file.writelines(json.dumps(doc.to_dict()) + "\\n" for doc in docs)
"""
UNLIMITED = (
    '@app.retry(strategy="exponential_backoff", max_retry_count="-1", minimum_interval="00:00:01", '
    'maximum_interval="00:00:02")'
)
TWICE = '@app.retry(strategy="fixed_delay", max_retry_count="2", delay_interval="00:00:00")'


def functions(*, beginning: bool = True, mode: str = "LatestVersion", retry: str = UNLIMITED) -> str:
    """The app under test."""
    return TRIGGER.replace("BEGINNING", str(beginning)).replace("MODE", mode).replace("RETRY", retry)


@dataclass(frozen=True)
class Shop:
    """A server, its database, and one container whose changes are watched."""

    server: LocalCosmos
    database: DatabaseProxy
    container: ContainerProxy

    def write(self, numbers: range, **fields: Any) -> None:
        """Documents with these numbers as ids, over several partitions."""
        for number in numbers:
            self.container.upsert_item({"id": str(number), "pk": f"p{number % 7}", "number": number, **fields})

    def settings(self, folder: Path, **more: str) -> dict[str, str]:
        """The app settings of a host that keeps what it sees in `folder`."""
        return {
            "COSMOS": f"AccountEndpoint={self.server.endpoint};AccountKey={self.server.key};",
            "CONTAINER": self.container.id,
            "PREFIX": f"{self.container.id}-",
            "SEEN": str(folder / "seen.jsonl"),
            "LOCAL_LEASE_EXPIRY_SECONDS": "2",
            **more,
        }

    def is_checkpointed(self) -> bool:
        """Whether the leases are behind every change that was made so far."""
        rid = self.container.read()["_rid"]
        found = trigger_leases.positions(leases(self), rid)
        return bool(found) and not any(self._waiting(rid, position) for position in found)

    def _waiting(self, rid: str, position: LeasePosition) -> list[dict[str, Any]]:
        if position.etag is None:
            place: dict[str, Any] = {"feed_range": {"Range": position.feed_range}, "start_time": "Beginning"}
        else:
            place = {"continuation": new_token(rid, "LatestVersion", position.feed_range, position.etag)}
        return list(self.container.query_items_change_feed(**place))


def shop_on(server: LocalCosmos) -> Shop:
    """A new container on this server."""
    client = CosmosClient(server.endpoint, server.key)
    database = client.create_database_if_not_exists("shop")
    database.create_container_if_not_exists("leases", PartitionKey("/id"))
    return Shop(server, database, database.create_container(f"c{uuid.uuid4().hex[:8]}", PartitionKey("/pk")))


def seen(*folders: Path) -> list[dict[str, Any]]:
    """Every document that the hosts of these folders gave to the function."""
    return json_lines(*(folder / "seen.jsonl" for folder in folders))


def seen_ids(*folders: Path) -> set[str]:
    """Their ids."""
    return {document["id"] for document in seen(*folders)}


def ids(numbers: range) -> set[str]:
    """The ids that `Shop.write` gives."""
    return {str(number) for number in numbers}


def leases(shop: Shop) -> list[dict[str, Any]]:
    """The leases of the shop's trigger."""
    return [document for document in lease_documents(shop) if "LeaseToken" in document]


def lease_documents(shop: Shop) -> list[dict[str, Any]]:
    """All that the shop's trigger keeps in the lease container."""
    container = shop.database.get_container_client("leases")
    return [each for each in container.read_all_items() if each["id"].startswith(f"{shop.container.id}-")]
