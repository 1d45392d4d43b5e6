"""Writes what happens to facts into containers and hubs, as applications do, while everything around is killed.

Events of a fact keep to one partition. Those with a declared version also come late and twice.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from zlib import crc32

from azure.cosmos import CosmosClient
from azure.eventhub import EventData, EventHubProducerClient
from azure.eventhub.exceptions import EventHubError

if TYPE_CHECKING:
    import threading
    from random import Random

    from azure.cosmos import ContainerProxy

    from tests.e2e.changing_facts import Fact, Kind, World

PARTITIONS = 4
LATE, TWICE = 0.1, 0.1


@dataclass
class Containers:
    """The containers of a database."""

    endpoint: str
    key: str
    database: str

    def __post_init__(self) -> None:
        self._database = CosmosClient(self.endpoint, self.key).get_database_client(self.database)
        self._containers: dict[str, ContainerProxy] = {}

    def of(self, kind: Kind) -> ContainerProxy:
        """The container of a source."""
        return self._containers.setdefault(kind.source, self._database.get_container_client(kind.source))


@dataclass
class Hubs:
    """Producers for hubs; a send is repeated until the hub has taken it."""

    connection: str
    stop: threading.Event
    producers: dict[str, EventHubProducerClient] = field(default_factory=dict)

    def send(self, hub: str, partition: str, bodies: list[bytes]) -> None:
        """One batch, in order. A batch that got no answer is sent again as a whole, so nothing overtakes."""
        while True:
            try:
                producer = self._producer(hub)
                batch = producer.create_batch(partition_id=partition)
                for body in bodies:
                    batch.add(EventData(body))
                producer.send_batch(batch)
                return
            except (EventHubError, OSError):
                self._forget(hub)
                self.stop.wait(0.2)

    def close(self) -> None:
        """Close all producers."""
        for hub in list(self.producers):
            self._forget(hub)

    def _producer(self, hub: str) -> EventHubProducerClient:
        if hub not in self.producers:
            self.producers[hub] = EventHubProducerClient.from_connection_string(
                self.connection, eventhub_name=hub, retry_total=1, retry_backoff_factor=0.1
            )
        return self.producers[hub]

    def _forget(self, hub: str) -> None:
        if producer := self.producers.pop(hub, None):
            producer.close()


@dataclass
class FactWriter:
    """Brings changes of the world to the services."""

    world: World
    random: Random
    hubs: Hubs
    containers: Containers | None = None
    unreadable: Counter[str] = field(default_factory=Counter)
    sent: dict[tuple[str, str], list[bytes]] = field(default_factory=lambda: defaultdict(list))
    _waiting: dict[tuple[str, str], list[bytes]] = field(default_factory=lambda: defaultdict(list))
    _late: list[tuple[tuple[str, str], bytes]] = field(default_factory=list)

    def write(self, kind: Kind, number: int, fact: Fact | None) -> None:
        """One change, into the source's container or its hub; hubs get theirs with `flush`."""
        if kind.container and (not kind.hub or self.random.random() < 0.5):
            self._store(kind, number, fact)
        else:
            self._put_event(kind, number, fact)

    def poison(self, kind: Kind) -> None:
        """Something that is no change at all, each different from all others."""
        self.unreadable[kind.source] += 1
        serial = f"poison{self.unreadable[kind.source]}"
        if kind.container and self.random.random() < 0.5:
            assert self.containers is not None
            self.containers.of(kind).upsert_item({"id": serial, "home": "h0"})  # without its version
            return
        bodies = [
            b"\xff" + serial.encode(),
            _json({"op": "destroy", "id": serial}),
            _json({"op": "upsert", "document": {"note": serial}}),
            _json({"op": "upsert", "id": serial, "document": {"id": "another"}}),
        ]
        self._waiting[kind.source, str(self.random.randrange(PARTITIONS))].append(self.random.choice(bodies))

    def flush(self, *, all_of_them: bool = False) -> None:
        """Send what waits for the hubs: some of it late, some of it twice."""
        if all_of_them:
            while self._late:
                place, body = self._late.pop()
                self._waiting[place].append(body)
        for place, bodies in self._waiting.items():
            self.hubs.send(*place, bodies)
            self.sent[place] += bodies
        self._waiting.clear()
        if self._late and self.random.random() < 0.3:
            place, body = self._late.pop(0)
            self._waiting[place].append(body)

    def _store(self, kind: Kind, number: int, fact: Fact | None) -> None:
        assert self.containers is not None
        container = self.containers.of(kind)
        if fact is not None:
            container.upsert_item(dict(fact))
        elif kind.deletes_hard:
            name = self.world.identity(kind, number)
            container.delete_item(name["id"], name["home"])
        else:
            gone = {**self.world.identity(kind, number), "gone": True}
            container.upsert_item({**gone, "revision": self.world.revisions[kind, number]})

    def _put_event(self, kind: Kind, number: int, fact: Fact | None) -> None:
        name = self.world.identity(kind, number)
        envelope: dict[str, Any] = {
            "source": kind.source,
            "op": "delete" if fact is None else "upsert",
            "id": name["id"],
        }
        if kind.has_home:
            envelope["partitionKey"] = name["home"]
        if kind.has_version:
            envelope["version"] = self.world.revisions[kind, number]
        body = _json(envelope if fact is None else {**envelope, "document": fact})
        place = kind.source, str(crc32(f"{name}".encode()) % PARTITIONS)
        if kind.has_version and self.random.random() < LATE:
            self._late.append((place, body))
            return
        self._waiting[place].append(body)
        if kind.has_version and self.random.random() < TWICE:
            self._waiting[place].append(body)


def _json(value: object) -> bytes:
    return json.dumps(value).encode()
