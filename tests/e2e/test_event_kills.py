"""Events under kills: of hosts and of the server, with stolen links. Every change is in the index, once."""

from __future__ import annotations

import random
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from azure.data.tables import TableServiceClient

from shared.sources.hub_events import EVENT_CONSUMER_GROUP
from tests.contract.eventhubs.server import LocalEventHubs
from tests.e2e.changing_facts import ORDERS, VISITS, World, definitions
from tests.e2e.trial import (
    GIVEN_UP,
    ChangingFacts,
    found,
    two_hosts,
    unprojectable,
    unreadable,
    wait_until_both_apply,
    wait_until_exact,
)
from tests.e2e.writing_facts import PARTITIONS, FactWriter, Hubs
from tests.support import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The synchronous AMQP client leaves the sockets of broken connections to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

KINDS = (ORDERS, VISITS)
COUNTS = {ORDERS: 300, VISITS: 100}
ROUNDS = 6
CHANGES_PER_ROUND = 250


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LocalEventHubs]:
    """The hubs, each with the app's consumer group."""
    hubs = [part for kind in KINDS for part in ("--hub", f"{kind.source}:{PARTITIONS}")]
    started = LocalEventHubs(tmp_path / "hubs", [*hubs, "--consumer-group", EVENT_CONSUMER_GROUP]).start()
    yield started
    started.stop()


def settings(server: LocalEventHubs, storage: str, folder: Path) -> dict[str, str]:
    """Of both hosts."""
    (folder / "indexes.yaml").write_text(definitions(KINDS, "none"))
    return {
        "AzureWebJobsStorage": storage,
        "INDEX_STORAGE": storage,
        "INDEX_DEFINITIONS": str(folder / "indexes.yaml"),
        "EVENTHUB": server.connection_string,
        "LOCAL_LEASE_EXPIRY_SECONDS": "3",
    }


@pytest.mark.long
def test_every_events_change_is_in_the_index_and_duplicates_change_nothing(
    server: LocalEventHubs, own_azurite: str, tmp_path: Path
) -> None:
    """Two hosts share the partitions; hosts and server are killed in turns while events come in."""
    world = World(random.Random(7))
    writer = FactWriter(world, random.Random(8), Hubs(server.connection_string, threading.Event()))
    facts = ChangingFacts(writer, KINDS)
    with two_hosts(tmp_path, settings(server, own_azurite, tmp_path)) as hosts:
        facts.insert(COUNTS)
        with facts.changing():
            for number in range(ROUNDS):
                facts.allowed += CHANGES_PER_ROUND
                wait_until_both_apply(hosts)
                for kind in KINDS:
                    server.admin("POST", "/links/steal", {"hub": kind.source})
                victim = hosts[number % 2]
                victim.kill()
                victim.start()
                wait_until(lambda: facts.changes >= facts.allowed, "this round's changes are sent", 300)
                server.kill()
                server.start()
                facts.check()
        wait_until_exact(own_azurite, world, KINDS)
        before = rows(own_azurite)
        send_all_again(writer, own_azurite)
        # Nothing is written. Rows that a kill left behind, masked by newer ones, may be cleared away.
        assert rows(own_azurite, without="marker").items() <= before.items()
        assert visible(own_azurite) == {
            index: expected for kind in KINDS for index, expected in world.entries(kind).items()
        }
    assert unprojectable(own_azurite) == world.unprojectable()
    assert not unreadable(own_azurite)
    assert not [host.name for host in hosts if GIVEN_UP in host.all_output]


def send_all_again(writer: FactWriter, storage: str) -> None:
    """Every event with a declared version once more, and behind them a marker in each partition."""
    hubs = Hubs(writer.hubs.connection, threading.Event())
    for (hub, partition), bodies in sorted(writer.sent.items()):
        if hub != ORDERS.source:
            continue
        for start in range(0, len(bodies), 200):
            hubs.send(hub, partition, bodies[start : start + 200])
        hubs.send(hub, partition, [marker(partition)])
    hubs.close()
    wait_until(lambda: markers(storage) == PARTITIONS, "the markers have arrived", 300)


def markers(storage: str) -> int:
    """How many of them are in their index."""
    with TableServiceClient.from_connection_string(storage) as service:
        (name,) = [table.name for table in service.list_tables() if table.name.startswith("ordersbytag")]
        return len(list(service.get_table_client(name).query_entities("PartitionKey eq 'marker !'")))


def visible(storage: str) -> dict[str, Counter[str]]:
    """What every index has, without the markers."""
    indexes = [index for kind in KINDS for index in World(random.Random()).entries(kind)]
    return {
        index: Counter({entry: count for entry, count in found(storage, index).items() if "marker" not in entry})
        for index in indexes
    }


def marker(partition: str) -> bytes:
    """An event of a fact that nothing else touches."""
    return (
        b'{"op": "upsert", "document": {"id": "marker%b", "home": "h", "revision": 1, "town": "marker", '
        b'"tags": ["marker"], "rank": 1, "note": ""}}' % partition.encode()
    )


def rows(storage: str, without: str | None = None) -> dict[tuple[str, str, str], Any]:
    """Every row of every index of orders with its ETag: as it was last written."""
    with TableServiceClient.from_connection_string(storage) as service:
        return {
            (table.name, row["PartitionKey"], row["RowKey"]): row.metadata["etag"]
            for table in service.list_tables()
            if table.name.startswith(ORDERS.source)
            for row in service.get_table_client(table.name).list_entities()
            if without is None or without not in row["PartitionKey"] + row["RowKey"]
        }
