"""Two sources on one hub under kills: each index has exactly what its own events say, whatever came twice or late."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from azure.eventhub import EventData, EventHubProducerClient

from shared.sources.hub_events import EVENT_CONSUMER_GROUP
from tests.contract.eventhubs.server import LocalEventHubs
from tests.e2e.outside_reader import entries
from tests.e2e.trial import GIVEN_UP, two_hosts
from tests.support import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The synchronous AMQP client leaves the sockets of broken connections to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

DEFINITIONS = """
version: 1
sources:
  orders: {eventHub: shop, events: {form: debezium, when: source.table == 'orders'}}
  shipments:
    eventHub: shop
    events: {when: type == 'ShipmentChanged', id: data.id, version: data.revision, document: data, delete: data.gone}
indexes:
  orders-by-town: {source: orders, partition: town, project: [revision]}
  shipments-by-town: {source: shipments, partition: town, project: [revision]}
"""
INDEXES = {"orders": "orders-by-town", "shipments": "shipments-by-town"}
TOWNS = ("Oslo", "Kent", "Lund")
PARTITIONS, FACTS, ROUNDS, CHANGES_PER_ROUND, TRICKLE = 4, 60, 4, 200, 12


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LocalEventHubs]:
    """One hub with the app's consumer group."""
    arguments = ["--hub", f"shop:{PARTITIONS}", "--consumer-group", EVENT_CONSUMER_GROUP]
    started = LocalEventHubs(tmp_path / "hubs", arguments).start()
    yield started
    started.stop()


class Shop:
    """Facts of both sources, and the events of their changes; some are held back, some are sent again."""

    def __init__(self, chance: random.Random) -> None:
        self.expected: dict[str, dict[str, tuple[str, int]]] = {"orders": {}, "shipments": {}}
        self._chance = chance
        self._revision = 0
        self._sent: list[dict[str, Any]] = []
        self._held: list[dict[str, Any]] = []

    def events(self, count: int) -> list[dict[str, Any]]:
        """The events of so many changes, in any order, with others' and old ones between them."""
        fresh = [self._change() for _ in range(count)] + self._held
        self._chance.shuffle(fresh)
        held = count // 10
        self._held, now = fresh[:held], fresh[held:]
        self._sent += now
        again = self._chance.choices(self._sent, k=count // 4)
        foreign = [{"type": "CartChanged", "data": {"id": str(number)}} for number in range(count)]
        mixed = [*now, *again, *foreign]
        self._chance.shuffle(mixed)
        return mixed

    def rest(self) -> list[dict[str, Any]]:
        """What was held back to the end."""
        return self._held

    def _change(self) -> dict[str, Any]:
        self._revision += 1
        source = self._chance.choice(["orders", "shipments"])
        fact: dict[str, Any] = {"id": str(self._chance.randrange(FACTS)), "revision": self._revision}
        fact["town"] = self._chance.choice(TOWNS)
        gone = self._chance.random() < 0.2
        if gone:
            self.expected[source].pop(fact["id"], None)
        else:
            self.expected[source][fact["id"]] = (fact["town"], self._revision)
        if source == "orders":
            return _row(fact, gone=gone)
        return {"type": "ShipmentChanged", "data": {**fact, "gone": gone}}


def _row(fact: dict[str, Any], *, gone: bool) -> dict[str, Any]:
    source = {"connector": "postgresql", "table": "orders", "lsn": fact["revision"], "ts_ms": 1}
    change = {"before": {"id": fact["id"]}, "after": None, "op": "d"} if gone else {"after": fact, "op": "u"}
    return {**change, "source": source}


def send(connection: str, chance: random.Random, events: list[dict[str, Any]]) -> None:
    """Each event to one partition or two, whichever: nothing binds the events of a fact."""
    with EventHubProducerClient.from_connection_string(connection, eventhub_name="shop") as producer:
        for partition in range(PARTITIONS):
            own = [event for number, event in enumerate(events) if number % PARTITIONS == partition]
            more = chance.choices(events, k=len(events) // 10) if events else []
            producer.send_batch([EventData(json.dumps(event)) for event in own + more], partition_id=str(partition))


@pytest.mark.long
def test_no_difference_is_left_after_kills(server: LocalEventHubs, own_azurite: str, tmp_path: Path) -> None:
    """Hosts and the server are killed in turns while events of both sources and of a third come in."""
    (tmp_path / "indexes.yaml").write_text(DEFINITIONS)
    settings = {
        "AzureWebJobsStorage": own_azurite,
        "INDEX_STORAGE": own_azurite,
        "INDEX_DEFINITIONS": str(tmp_path / "indexes.yaml"),
        "EVENTHUB": server.connection_string,
        "LOCAL_LEASE_EXPIRY_SECONDS": "3",
    }
    chance = random.Random(27)
    shop = Shop(chance)
    with two_hosts(tmp_path, settings) as hosts:

        def both_apply() -> bool:
            """A host that has just got its partitions has something to do only while events come in."""
            send(server.connection_string, chance, shop.events(TRICKLE))
            return all(host.applied_batches for host in hosts)

        for number in range(ROUNDS):
            send(server.connection_string, chance, shop.events(CHANGES_PER_ROUND))
            wait_until(both_apply, "both hosts have applied a batch", 300)
            server.admin("POST", "/links/steal", {"hub": "shop"})
            victim = hosts[number % 2]
            victim.kill()
            victim.start()
            server.kill()
            server.start()
        send(server.connection_string, chance, shop.rest())
        wait_until(lambda: found(own_azurite) == shop.expected, "both indexes are exact", 300)
    assert not [host.name for host in hosts if GIVEN_UP in host.all_output]


def found(storage: str) -> dict[str, dict[str, tuple[str, int]]]:
    """Town and revision of each fact, by source."""
    return {
        source: {row["id"]: (row["key"]["town"], row["data"]["revision"]) for row in entries(storage, index)}
        for source, index in INDEXES.items()
    }
