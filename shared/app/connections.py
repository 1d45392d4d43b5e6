"""Clients made from connections: by connection string, or by address with an identity.

In Azure that is the managed identity of the app; on somebody's own machine it is whoever is signed in there.
"""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from shared.app import settings
from shared.tables.breaker import Breaker
from shared.tables.client import TableClient
from shared.tables.clock import ServiceClock
from shared.tables.retry import RetryPolicy, Timing
from shared.tables.wire.account import Account
from shared.tables.wire.entra import EntraCredential

if TYPE_CHECKING:
    from collections.abc import Callable

    from azure.cosmos.aio import CosmosClient
    from azure.eventhub.aio import EventHubConsumerClient, EventHubProducerClient
    from azure.storage.blob.aio import ContainerClient
    from azure.storage.queue.aio import QueueClient

    from shared.app.settings import CosmosConnection, EventHubsConnection, StorageConnection
    from shared.tables.counts import Counts

T = TypeVar("T")

# The world outside, which everything below gets as parameters.
TIMING = Timing(time.time, time.monotonic, asyncio.sleep, random.random)
CLOCK = ServiceClock(TIMING.wall_seconds, TIMING.steady_seconds)
# A caller is waiting: better a 503 soon than an answer that nobody waits for any more.
FOR_CALLERS = RetryPolicy(attempts=3, budget_seconds=8, first_wait_seconds=0.1, longest_wait_seconds=1, open_seconds=0)

_identities: dict[str | None, Any] = {}


def new_id() -> str:
    """A name that nothing else has: of a process, of a blob."""
    return uuid.uuid4().hex


def account_of(connection: StorageConnection) -> Account:
    """The Table service of an account, and what proves that we may call it."""
    if connection.connection_string:
        return Account.from_connection_string(connection.connection_string)
    # One of its own, because whoever closes the tables closes it, too.
    return Account.with_credential(connection.endpoint("table"), EntraCredential(_new_identity(connection.client_id)))


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


def event_hub_client(connection: EventHubsConnection, hub: str, group: str, **options: Any) -> EventHubConsumerClient:
    """A hub, as a reader in one of its consumer groups; the options are those of the SDK's client."""
    from azure.eventhub.aio import EventHubConsumerClient

    if connection.connection_string:
        return EventHubConsumerClient.from_connection_string(
            connection.connection_string, group, eventhub_name=hub, **options
        )
    return EventHubConsumerClient(str(connection.namespace), hub, group, _identity(connection.client_id), **options)


def event_hub_producer(connection: EventHubsConnection, hub: str, **options: Any) -> EventHubProducerClient:
    """A hub, as a sender; the options are those of the SDK's client."""
    from azure.eventhub.aio import EventHubProducerClient

    if connection.connection_string:
        return EventHubProducerClient.from_connection_string(connection.connection_string, eventhub_name=hub, **options)
    return EventHubProducerClient(str(connection.namespace), hub, _identity(connection.client_id), **options)


def event_hubs_namespace(connection: EventHubsConnection) -> str:
    """The host name of a namespace, as checkpoints are filed under it."""
    from azure.eventhub import parse_connection_string

    if connection.connection_string:
        return parse_connection_string(connection.connection_string).fully_qualified_namespace
    return str(connection.namespace)


def _identity(client_id: str | None) -> Any:
    """One for all clients: it keeps its tokens, and clients that live only for a question do not ask for new ones."""
    if client_id not in _identities:
        _identities[client_id] = _new_identity(client_id)
    return _identities[client_id]


async def close_identities() -> None:
    """Let go of the connections to the identity service: for commands, which end; an app keeps them."""
    while _identities:
        await _identities.popitem()[1].close()


def _new_identity(client_id: str | None) -> Any:
    """Of the app in Azure, where `client_id` chooses among several; elsewhere of the person or pipeline at work."""
    # 470 ms of imports, which a local run with keys never pays.
    from azure.identity.aio import DefaultAzureCredential, ManagedIdentityCredential

    if settings.value(settings.IDENTITY_ENDPOINT):
        return ManagedIdentityCredential(client_id=client_id)
    return DefaultAzureCredential(managed_identity_client_id=client_id)


class OpenedByName(dict[str, T]):
    """Clients of storage accounts by the name of their connection, each made when it is first asked for.

    Which there are is not known before: the catalog may have a generation in an account that no definition names
    any more. A connection that is not set raises `SettingError`.
    """

    def __init__(self, open_account: Callable[[str], T]) -> None:
        super().__init__()
        self._open_account = open_account

    def __missing__(self, name: str) -> T:
        return self.setdefault(name, self._open_account(name))
