"""The namespace under test: the local server, or a real one that the environment names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.contract.eventhubs.server import LocalEventHubs
from tests.contract.eventhubs.wire import WireClient

if TYPE_CHECKING:
    from collections.abc import Iterator

HUB, PARTITION_COUNT, SECOND_GROUP = "orders", 4, "audit"


@dataclass(frozen=True)
class HubUnderTest:
    """Where the contract is tested; `local` is None on a real namespace."""

    connection_string: str
    name: str
    local: LocalEventHubs | None


@pytest.fixture(scope="session")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubUnderTest]:
    """A real hub if EVENTHUBS_CONTRACT_CONNECTION_STRING and EVENTHUBS_CONTRACT_HUB name one, else a local one.

    A real one needs four partitions, and a consumer group `audit` beside `$Default`.
    """
    connection, name = (os.environ.get(f"EVENTHUBS_CONTRACT_{part}") for part in ("CONNECTION_STRING", "HUB"))
    if connection and name:
        yield HubUnderTest(connection, name, None)
        return
    arguments = ["--hub", f"{HUB}:{PARTITION_COUNT}", "--hub", "other:1", "--consumer-group", SECOND_GROUP]
    server = LocalEventHubs(tmp_path_factory.mktemp("eventhubs"), arguments).start()
    yield HubUnderTest(server.connection_string, HUB, server)
    assert server.stop() == 0


@pytest.fixture
def local_hubs(hub: HubUnderTest) -> LocalEventHubs:
    """The local server, for what no real namespace does on command."""
    if hub.local is None:
        pytest.skip("only the local server can do this")
    return hub.local


@pytest.fixture
def wire(local_hubs: LocalEventHubs) -> Iterator[WireClient]:
    """A connection that speaks frames, open and with a session, without a token."""
    with WireClient(local_hubs.port) as client:
        client.open()
        client.begin()
        yield client
