"""Clients made from connections: by connection string, or by address with the app's managed identity."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from shared.tables.account import Account
from shared.tables.breaker import Breaker
from shared.tables.client import TableClient
from shared.tables.clock import ServiceClock
from shared.tables.entra import EntraCredential
from shared.tables.retry import RetryPolicy, Timing

if TYPE_CHECKING:
    from collections.abc import Callable

    from azure.cosmos.aio import CosmosClient
    from azure.eventhub.aio import EventHubConsumerClient
    from azure.storage.blob.aio import ContainerClient
    from azure.storage.queue.aio import QueueClient

    from shared.settings import CosmosConnection, EventHubsConnection, StorageConnection
    from shared.tables.counts import Counts

T = TypeVar("T")

# The world outside, which everything below gets as parameters.
TIMING = Timing(time.time, time.monotonic, asyncio.sleep, random.random)
CLOCK = ServiceClock(TIMING.wall_seconds, TIMING.steady_seconds)
# A caller is waiting: better a 503 soon than an answer that nobody waits for any more.
FOR_CALLERS = RetryPolicy(attempts=3, budget_seconds=8, first_wait_seconds=0.1, longest_wait_seconds=1, open_seconds=0)


def new_id() -> str:
    """A name that nothing else has: of a process, of a blob."""
    return uuid.uuid4().hex


def account_of(connection: StorageConnection) -> Account:
    """The Table service of an account, and what proves that we may call it."""
    if connection.connection_string:
        return Account.from_connection_string(connection.connection_string)
    credential = EntraCredential.managed_identity(connection.client_id)
    return Account.with_credential(connection.endpoint("table"), credential)


@cache
def breaker_of(endpoint: str) -> Breaker:
    """The breaker of an account's endpoint, which all clients of this process share."""
    return Breaker()


def table_client(
    connection: StorageConnection,
    counts: Counts | None = None,
    policy: RetryPolicy | None = None,
    breaker: Breaker | None = None,
) -> TableClient:
    """The tables of an account."""
    account = account_of(connection)
    breaker = breaker or breaker_of(account.endpoint)
    return TableClient(account, TIMING, counts=counts, policy=policy, breaker=breaker, clock=CLOCK)


def cosmos_client(connection: CosmosConnection) -> CosmosClient:
    """A Cosmos DB account."""
    from azure.cosmos.aio import CosmosClient

    if connection.connection_string:
        return CosmosClient.from_connection_string(connection.connection_string)
    return CosmosClient(str(connection.endpoint), credential=_identity(connection.client_id))


def queue_client(connection: StorageConnection, queue: str) -> QueueClient:
    """A queue whose messages are in Base64, as Azure Functions reads them by default."""
    from azure.storage.queue import TextBase64DecodePolicy, TextBase64EncodePolicy
    from azure.storage.queue.aio import QueueClient

    policies: dict[str, Any] = {
        "message_encode_policy": TextBase64EncodePolicy(),
        "message_decode_policy": TextBase64DecodePolicy(),
    }
    if connection.connection_string:
        return QueueClient.from_connection_string(connection.connection_string, queue, **policies)
    return QueueClient(connection.endpoint("queue"), queue, credential=_identity(connection.client_id), **policies)


def container_client(connection: StorageConnection, container: str) -> ContainerClient:
    """A blob container."""
    from azure.storage.blob.aio import ContainerClient

    if connection.connection_string:
        return ContainerClient.from_connection_string(connection.connection_string, container)
    return ContainerClient(connection.endpoint("blob"), container, credential=_identity(connection.client_id))


def event_hub_client(connection: EventHubsConnection, hub: str, group: str) -> EventHubConsumerClient:
    """A hub, as a reader in one of its consumer groups. Who asks how it is does not want to wait for many retries."""
    from azure.eventhub.aio import EventHubConsumerClient

    if connection.connection_string:
        return EventHubConsumerClient.from_connection_string(
            connection.connection_string, group, eventhub_name=hub, retry_total=1
        )
    identity = _identity(connection.client_id)
    return EventHubConsumerClient(str(connection.namespace), hub, group, identity, retry_total=1)


def event_hubs_namespace(connection: EventHubsConnection) -> str:
    """The host name of a namespace, as checkpoints are filed under it."""
    from azure.eventhub import parse_connection_string

    if connection.connection_string:
        return parse_connection_string(connection.connection_string).fully_qualified_namespace
    return str(connection.namespace)


@cache
def _identity(client_id: str | None) -> Any:
    """One for all clients: it keeps its tokens, and clients that live only for a question do not ask for new ones."""
    from azure.identity.aio import ManagedIdentityCredential

    return ManagedIdentityCredential(client_id=client_id)


class Opened(dict[str, T]):
    """Clients of storage accounts by the name of their connection, each made when it is first asked for.

    Which there are is not known before: the catalog may have a generation in an account that no definition names
    any more. A connection that is not set raises `SettingError`.
    """

    def __init__(self, open_account: Callable[[str], T]) -> None:
        super().__init__()
        self._open_account = open_account

    def __missing__(self, name: str) -> T:
        return self.setdefault(name, self._open_account(name))
