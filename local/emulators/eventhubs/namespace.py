"""The namespace: what all connections of one server share."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from local.emulators.eventhubs.amqp.errors import UNAUTHORIZED_ACCESS, EntityNotFoundError, LinkError
from local.emulators.eventhubs.faults import FaultSwitches
from local.emulators.eventhubs.log.owners import Owners

if TYPE_CHECKING:
    from collections.abc import Iterable

    from local.emulators.eventhubs.log.hubs import Hub
    from local.emulators.eventhubs.log.store import EventStore
    from local.emulators.eventhubs.tokens import Grant, SharedAccessKey

# The limit of a batch in the Standard tier.
MAX_MESSAGE_BYTES = 1024 * 1024


class OpenConnection(Protocol):
    """A client's connection, as the server sees it."""

    def drop(self) -> None:
        """Cut it without telling the client."""

    def shut_down(self) -> None:
        """Close it in order, because the server stops."""


def clock_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Namespace:
    """Hubs, readers, the key and the fault switches."""

    store: EventStore
    key: SharedAccessKey
    idle_timeout_seconds: float
    owners: Owners = field(default_factory=Owners)
    faults: FaultSwitches = field(default_factory=FaultSwitches)
    connections: set[OpenConnection] = field(default_factory=set)

    def open_hub(self, name: str, grants: Iterable[Grant]) -> Hub:
        """The hub of this name, if it exists and the grants open it."""
        hub = self.store.hub(name)
        if hub is None:
            raise EntityNotFoundError(name, "Check the hub's name, or start the server with --hub NAME:PARTITIONS.")
        if not any(grant.opens(hub.name, time.time()) for grant in grants):
            raise LinkError(UNAUTHORIZED_ACCESS, f"No valid token for hub {hub.name}: put one to $cbs first.")
        return hub
