"""Clients for connections: by connection string, or by address with an identity.

In Azure this is the managed identity of the app; on a developer's machine it is the person who is signed in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from shared.app.settings import IDENTITY_ENDPOINT, STORAGE_CALLS_MAX
from shared.tables.breaker import Breaker
from shared.tables.client import TableClient
from shared.tables.limiter.calls import Priority
from shared.tables.limiter.gate import Gate
from shared.tables.limiter.limiter import Limiter
from shared.tables.retry import RetryPolicy
from shared.tables.wire.account import Account
from shared.tables.wire.entra import EntraCredential

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from azure.core.credentials import AccessToken
    from azure.cosmos.aio import CosmosClient
    from azure.eventhub.aio import EventHubConsumerClient, EventHubProducerClient
    from azure.storage.blob.aio import ContainerClient
    from azure.storage.queue.aio import QueueClient

    from shared.app.connection_settings import CosmosConnection, EventHubsConnection, StorageConnection
    from shared.app.settings import Settings
    from shared.app.world import World
    from shared.tables.counts import Counts
    from shared.tables.wire.entra import AzureIdentity

T = TypeVar("T")

# A caller is waiting: an early 503 is better than an answer that comes too late.
FOR_CALLERS: Final = RetryPolicy(
    attempts=3,
    budget_seconds=8,
    first_wait_seconds=0.1,
    longest_wait_seconds=1,
    open_seconds=0,
    waits_out_throttles=False,
)


class Connections:
    """The clients of one process, and what they share: breakers and gates of storage accounts, and identities."""

    def __init__(self, settings: Settings, world: World) -> None:
        self._settings = settings
        self._world = world
        self._breakers: dict[str, Breaker] = {}
        self._gates: dict[str, Gate] = {}
        self._identities: dict[str | None, Any] = {}

    def account_of(self, connection: StorageConnection) -> Account:
        """The Table service of an account, with a key or credential for it."""
        if connection.connection_string:
            return Account.from_connection_string(connection.connection_string)
        identity = _Shared(self._identity(connection.client_id))
        return Account.with_credential(connection.endpoint("table"), EntraCredential(identity))

    def endpoint_of(self, connection: StorageConnection) -> str:
        """The Table endpoint of an account, without an identity for it."""
        if connection.connection_string:
            return Account.from_connection_string(connection.connection_string).endpoint
        return connection.endpoint("table").rstrip("/")

    def breaker_of(self, endpoint: str) -> Breaker:
        """The breaker of an account's endpoint, which all clients of this process share."""
        return self._breakers.setdefault(endpoint, Breaker())

    def gate_of(self, endpoint: str) -> Gate:
        """The permits of an account's endpoint, which all clients of this process share."""
        if endpoint not in self._gates:
            limiter, timing = Limiter(self._settings.value(STORAGE_CALLS_MAX)), self._world.timing
            self._gates[endpoint] = Gate(limiter, timing.steady_seconds, timing.sleep)
        return self._gates[endpoint]

    def table_client(
        self,
        connection: StorageConnection,
        counts: Counts | None = None,
        policy: RetryPolicy | None = None,
        breaker: Breaker | None = None,
        priority: Priority = Priority.FEED,
    ) -> TableClient:
        """The tables of an account."""
        return self.table_client_of(self.account_of(connection), counts, policy, breaker, priority)

    def table_client_of(
        self,
        account: Account,
        counts: Counts | None = None,
        policy: RetryPolicy | None = None,
        breaker: Breaker | None = None,
        priority: Priority = Priority.FEED,
    ) -> TableClient:
        """The tables at an account's endpoint."""
        return TableClient(
            account,
            self._world.timing,
            counts=counts,
            policy=policy,
            breaker=breaker or self.breaker_of(account.endpoint),
            clock=self._world.clock,
            gate=self.gate_of(account.endpoint),
            priority=priority,
        )

    def cosmos_client(self, connection: CosmosConnection) -> CosmosClient:
        """A Cosmos DB account."""
        from azure.cosmos.aio import CosmosClient

        if connection.connection_string:
            return CosmosClient.from_connection_string(connection.connection_string)
        return CosmosClient(str(connection.endpoint), credential=self._identity(connection.client_id))

    def queue_client(self, connection: StorageConnection, queue: str) -> QueueClient:
        """A queue whose messages are in Base64, as Azure Functions reads them by default."""
        from azure.storage.queue import TextBase64DecodePolicy, TextBase64EncodePolicy
        from azure.storage.queue.aio import QueueClient

        policies: dict[str, Any] = {
            "message_encode_policy": TextBase64EncodePolicy(),
            "message_decode_policy": TextBase64DecodePolicy(),
        }
        if connection.connection_string:
            return QueueClient.from_connection_string(connection.connection_string, queue, **policies)
        return QueueClient(
            connection.endpoint("queue"), queue, credential=self._identity(connection.client_id), **policies
        )

    def container_client(self, connection: StorageConnection, container: str) -> ContainerClient:
        """A blob container."""
        from azure.storage.blob.aio import ContainerClient

        if connection.connection_string:
            return ContainerClient.from_connection_string(connection.connection_string, container)
        return ContainerClient(connection.endpoint("blob"), container, credential=self._identity(connection.client_id))

    def event_hub_client(
        self, connection: EventHubsConnection, hub: str, group: str, **options: Any
    ) -> EventHubConsumerClient:
        """A hub, as a reader in one of its consumer groups; the options are those of the SDK's client."""
        from azure.eventhub.aio import EventHubConsumerClient

        if connection.connection_string:
            return EventHubConsumerClient.from_connection_string(
                connection.connection_string, group, eventhub_name=hub, **options
            )
        return EventHubConsumerClient(
            str(connection.namespace), hub, group, self._identity(connection.client_id), **options
        )

    def event_hub_producer(self, connection: EventHubsConnection, hub: str, **options: Any) -> EventHubProducerClient:
        """A hub, as a sender; the options are those of the SDK's client."""
        from azure.eventhub.aio import EventHubProducerClient

        if connection.connection_string:
            return EventHubProducerClient.from_connection_string(
                connection.connection_string, eventhub_name=hub, **options
            )
        return EventHubProducerClient(str(connection.namespace), hub, self._identity(connection.client_id), **options)

    def _identity(self, client_id: str | None) -> Any:
        """One identity for all clients: it keeps its tokens, so that short-lived clients do not request new ones."""
        if client_id not in self._identities:
            self._identities[client_id] = self._new_identity(client_id)
        return self._identities[client_id]

    async def close_identities(self) -> None:
        """Close the connections to the identity service: for commands, which end. An app keeps them open."""
        while self._identities:
            await self._identities.popitem()[1].close()

    def _new_identity(self, client_id: str | None) -> Any:
        """In Azure the identity of the app (`client_id` selects one of several); elsewhere of the person signed in."""
        # 470 ms of imports, which a local run with keys never needs.
        from azure.identity.aio import DefaultAzureCredential, ManagedIdentityCredential

        if self._settings.value(IDENTITY_ENDPOINT):
            return ManagedIdentityCredential(client_id=client_id)
        return DefaultAzureCredential(managed_identity_client_id=client_id)


class _Shared:
    """An identity of several clients: one that is closed leaves it open for the others."""

    def __init__(self, identity: AzureIdentity) -> None:
        self._identity = identity

    def get_token(self, *scopes: str) -> Awaitable[AccessToken]:
        return self._identity.get_token(*scopes)

    async def close(self) -> None:
        pass


def event_hubs_namespace(connection: EventHubsConnection) -> str:
    """The host name of a namespace: checkpoints are stored under it, without the port that only a local one has."""
    from azure.eventhub import parse_connection_string

    namespace = str(connection.namespace)
    if connection.connection_string:
        namespace = parse_connection_string(connection.connection_string).fully_qualified_namespace
    return namespace.partition(":")[0]


class OpenedByName(dict[str, T]):
    """Clients of storage accounts by the name of their connection, each made when it is first used.

    The names are not known in advance: the catalog may have a generation in an account that no definition names any
    more. A connection that is not set raises `SettingError`.
    """

    def __init__(self, open_account: Callable[[str], T]) -> None:
        super().__init__()
        self._open_account = open_account

    def __missing__(self, name: str) -> T:
        return self.setdefault(name, self._open_account(name))
