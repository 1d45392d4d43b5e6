"""The test of trust: a bad hour in a few minutes, after which every index equals brute force.

Two hosts keep the indexes of five sources in containers and hubs. While their facts change, hosts are killed, ranges
split, links are stolen, connections dropped, storage and feeds throttled, and poison comes in between.
"""

from __future__ import annotations

import random
import re
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from azure.cosmos import CosmosClient, PartitionKey

from shared.sources.hub_events import EVENT_CONSUMER_GROUP
from tests.contract.cosmos.server import LocalCosmos
from tests.contract.eventhubs.server import LocalEventHubs
from tests.e2e.changing_facts import CARTS, FILMS, ORDERS, PEOPLE, VISITS, World, definitions
from tests.e2e.table_proxy import ThrottlingProxy
from tests.e2e.trial import (
    GIVEN_UP,
    STANDSTILL_SECONDS,
    ChangingFacts,
    two_hosts,
    unprojectable,
    unreadable,
    wait_until_exact,
)
from tests.e2e.writing_facts import PARTITIONS, Containers, FactWriter, Hubs
from tests.support import listens, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.hosts import Host

# The synchronous AMQP client leaves the sockets of broken connections to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

DATABASE = "trust"
COUNTS = {PEOPLE: 700, FILMS: 300, CARTS: 250, ORDERS: 550, VISITS: 200}
KINDS = tuple(COUNTS)
RANGES = 3
CHANGES = 6000
KILLS = 16
LEASE_EXPIRY_SECONDS = 5
POISON_SHARE = 0.005
THROTTLE_SECONDS = 5.0
# How long a host may take to start, get its share of leases and apply a batch: only a fault takes that long, or a
# machine that does ten other things.
APPLIES_WITHIN_SECONDS = 300.0


@dataclass
class Services:
    """What the hosts are connected to, and the means to make it hard for them."""

    cosmos: LocalCosmos
    hubs: LocalEventHubs
    tables: ThrottlingProxy
    storage: str
    random: random.Random
    ranges: dict[str, list[str]] = field(default_factory=dict)
    splits: int = 0
    steals: int = 0

    def settings(self, folder: Path) -> dict[str, str]:
        """Of both hosts."""
        (folder / "indexes.yaml").write_text(definitions(KINDS, DATABASE))
        return {
            "AzureWebJobsStorage": self.storage,
            "INDEX_STORAGE": self.storage.replace(f":{self.tables.target_port}/", f":{self.tables.port}/"),
            "INDEX_DEFINITIONS": str(folder / "indexes.yaml"),
            "COSMOS": f"AccountEndpoint={self.cosmos.endpoint};AccountKey={self.cosmos.key};",
            "EVENTHUB": self.hubs.connection_string,
            "FEED_POLL_DELAY_MS": "500",
            "LOCAL_LEASE_EXPIRY_SECONDS": str(LEASE_EXPIRY_SECONDS),
        }

    def make_it_hard(self, number: int) -> None:
        """One adversity after the other, each several times in a run."""
        (self._split, self._steal, self._throttle, self._drop)[number % 4]()

    def _split(self) -> None:
        """One range of each container becomes two."""
        for source, ranges in self.ranges.items():
            chosen = ranges.pop(self.random.randrange(len(ranges)))
            answer = self.cosmos.order(kind="split", container=f"dbs/{DATABASE}/colls/{source}", range=chosen)
            ranges.extend(answer["ranges"])
            self.splits += 1

    def _steal(self) -> None:
        for kind in KINDS:
            if kind.hub:
                self.hubs.admin("POST", "/links/steal", {"hub": kind.source})
                self.steals += 1

    def _throttle(self) -> None:
        """Storage, the feeds and the leases ask to be called less."""
        self.tables.throttle(THROTTLE_SECONDS)
        self.cosmos.order(kind="throttle", times=20, method="GET", path="/docs", retryAfterMs=50)
        self.cosmos.order(kind="throttle", times=5, path="/colls/leases", retryAfterMs=50)

    def _drop(self) -> None:
        self.hubs.admin("POST", "/connections/drop")
        self.cosmos.order(kind="drop", times=5, method="GET", path="/docs")
        self.cosmos.order(kind="drop-answer", times=2, path="/colls/leases")


@pytest.fixture
def services(own_azurite: str, tmp_path: Path) -> Iterator[Services]:
    """The local Azure, with empty containers and hubs."""
    hubs = [part for kind in KINDS if kind.hub for part in ("--hub", f"{kind.source}:{PARTITIONS}")]
    event_hubs = LocalEventHubs(tmp_path / "hubs", [*hubs, "--consumer-group", EVENT_CONSUMER_GROUP]).start()
    cosmos = LocalCosmos(tmp_path / "cosmos", ("--partitions", str(RANGES))).start()
    database = CosmosClient(cosmos.endpoint, cosmos.key).create_database(DATABASE)
    database.create_container("leases", PartitionKey("/id"))
    for kind in KINDS:
        if kind.container:
            database.create_container(kind.source, PartitionKey("/home"))
    ranges = {kind.source: [str(number) for number in range(RANGES)] for kind in KINDS if kind.container}
    with ThrottlingProxy(int(re.findall(r"TableEndpoint=http://127.0.0.1:(\d+)/", own_azurite)[0])) as tables:
        yield Services(cosmos, event_hubs, tables, own_azurite, random.Random(3), ranges)
    cosmos.stop()
    event_hubs.stop()


@pytest.mark.long
def test_a_bad_hour_loses_nothing(services: Services, tmp_path: Path) -> None:
    """2 000 facts, 6 000 changes, 16 kills, each of a host that has applied a batch since its start."""
    world = World(random.Random(1))
    writer = FactWriter(
        world,
        random.Random(2),
        Hubs(services.hubs.connection_string, threading.Event()),
        Containers(services.cosmos.endpoint, services.cosmos.key, DATABASE),
    )
    facts = ChangingFacts(writer, KINDS, POISON_SHARE)
    with two_hosts(tmp_path, services.settings(tmp_path)) as hosts:
        # A feed of all versions begins when its leases are made.
        wait_until(lambda: all(listens(host.port) for host in hosts), "both hosts listen", 60)
        facts.insert(COUNTS)
        with facts.changing():
            for number in range(KILLS):
                facts.allowed = (number + 1) * CHANGES // KILLS
                services.make_it_hard(number)
                kill_and_restart(hosts[number % 2], services.random.randint(1, 2))
                facts.check()
            wait_until(lambda: facts.changes >= CHANGES, "all changes are written", APPLIES_WITHIN_SECONDS)
        entry_count = wait_until_exact(services.storage, world, KINDS)
        # Poison may be the last thing in a partition, where no index shows that it was read.
        wait_until(
            lambda: unreadable(services.storage).total() >= writer.unreadable.total(),
            "the last poison is read",
            STANDSTILL_SECONDS,
        )
        # An entry is written before the dead letter of an earlier version is closed.
        wait_until(
            lambda: unprojectable(services.storage) == world.unprojectable(),
            "no dead letter is outdated",
            STANDSTILL_SECONDS,
        )
    assert unprojectable(services.storage) == world.unprojectable()
    assert unreadable(services.storage) == writer.unreadable
    assert not [host.name for host in hosts if GIVEN_UP in host.all_output]
    assert sum(host.starts for host in hosts) == KILLS + 2
    assert services.tables.busy_answers > 0
    print(
        f"{facts.changes} changes of {len(world.facts)} facts, {KILLS} kills, {services.splits} splits, "
        f"{services.steals} hubs' links stolen, {services.tables.busy_answers} busy answers; then {entry_count} "
        f"entries exact, {len(world.unprojectable())} + {writer.unreadable.total()} dead letters"
    )


def kill_and_restart(host: Host, batches: int) -> None:
    """Kill a host that has applied some batches since its start, most likely amid the next one."""
    wait_until(lambda: host.applied_batches >= batches, f"{host.name} has applied a batch", APPLIES_WITHIN_SECONDS)
    host.kill()
    host.start()
