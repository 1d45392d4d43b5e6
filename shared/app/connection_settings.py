"""Connections to Azure services, as app settings write them: a connection string, or an address with an identity."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from shared.app.settings import INDEX_STORAGE
from shared.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Mapping

_STORAGE_SERVICES: Final = ("table", "queue", "blob")
# What `UseDevelopmentStorage=true` means.
_EMULATOR_ACCOUNT: Final = "devstoreaccount1"


@dataclass(frozen=True, slots=True)
class CosmosConnection:
    """How to reach a Cosmos DB account: by connection string, or by address with a managed identity."""

    connection_string: str | None = None
    endpoint: str | None = None
    client_id: str | None = None


@dataclass(frozen=True, slots=True)
class EventHubsConnection:
    """How to reach an Event Hubs namespace: by connection string, or by host name with a managed identity."""

    connection_string: str | None = None
    namespace: str | None = None
    client_id: str | None = None


@dataclass(frozen=True, slots=True)
class StorageConnection:
    """How to reach a storage account: by connection string, or by addresses with a managed identity."""

    name: str
    connection_string: str | None = None
    endpoints: Mapping[str, str] = field(default_factory=dict)
    client_id: str | None = None

    @property
    def account(self) -> str:
        """The account's name."""
        if self.connection_string is None:
            return str(urlsplit(self.endpoint("table")).hostname).partition(".")[0]
        parts = dict(part.strip().partition("=")[::2] for part in self.connection_string.split(";"))
        if parts.get("UseDevelopmentStorage", "").lower() == "true":
            return _EMULATOR_ACCOUNT
        if "AccountName" not in parts:
            raise SettingError(f"The storage connection {self.name} has no AccountName: copy the whole string again.")
        return parts["AccountName"]

    def endpoint(self, service: str) -> str:
        """The address of one of its services: `table`, `queue` or `blob`."""
        try:
            return self.endpoints[service]
        except KeyError:
            raise SettingError(
                f"The storage connection {self.name} has no {service} service: set {self.name}__{service}ServiceUri."
            ) from None


def cosmos_connection(name: str, environment: Mapping[str, str]) -> CosmosConnection:
    """The Cosmos DB connection called `name`: a connection string, or an address for a managed identity."""
    if connection_string := environment.get(name):
        _check_parts(name, connection_string, "AccountEndpoint", "AccountKey")
        return CosmosConnection(connection_string=connection_string)
    if endpoint := environment.get(f"{name}__accountEndpoint"):
        if not endpoint.startswith("https://"):
            raise SettingError(
                f"The app setting {name}__accountEndpoint is {endpoint!r}: tokens need an https address."
            )
        return CosmosConnection(endpoint=endpoint, client_id=environment.get(f"{name}__clientId"))
    raise SettingError(
        f"There is no Cosmos DB connection {name}: set {name} to a connection string, "
        f"or {name}__accountEndpoint for a managed identity."
    )


def event_hubs_connection(name: str, environment: Mapping[str, str]) -> EventHubsConnection:
    """The Event Hubs connection called `name`: a connection string, or a host name for a managed identity."""
    if connection_string := environment.get(name):
        proof = "SharedAccessSignature" if "SharedAccessSignature=" in connection_string else "SharedAccessKey"
        _check_parts(name, connection_string, "Endpoint", proof)
        return EventHubsConnection(connection_string=connection_string)
    if namespace := environment.get(f"{name}__fullyQualifiedNamespace"):
        return EventHubsConnection(namespace=namespace, client_id=environment.get(f"{name}__clientId"))
    raise SettingError(
        f"There is no Event Hubs connection {name}: set {name} to a connection string, "
        f"or {name}__fullyQualifiedNamespace for a managed identity."
    )


def _check_parts(name: str, text: str, *wanted: str) -> None:
    """Raise `SettingError` unless a connection string has these parts. No message shows the string: it holds a key."""
    parts = {part.strip().partition("=")[0].lower() for part in text.split(";")}
    if lacking := [part for part in wanted if part.lower() not in parts]:
        raise SettingError(
            f"The app setting {name} is not a connection string, it has no {' and no '.join(lacking)}: copy it again."
        )


def storage_connection(name: str, environment: Mapping[str, str]) -> StorageConnection:
    """The storage connection called `name`, in either of the forms that Azure Functions has for connections.

    `NAME` holds a connection string. Or `NAME__accountName` holds the account's name, or `NAME__tableServiceUri`,
    `NAME__queueServiceUri` and `NAME__blobServiceUri` hold addresses, for a managed identity, whose client id may be in
    `NAME__clientId`.
    """
    if connection_string := environment.get(name):
        return StorageConnection(name, connection_string=connection_string)
    endpoints = {}
    for service in _STORAGE_SERVICES:
        if address := environment.get(f"{name}__{service}ServiceUri"):
            endpoints[service] = address
        elif account := environment.get(f"{name}__accountName"):
            endpoints[service] = f"https://{account}.{service}.core.windows.net"
    if endpoints:
        return StorageConnection(name, endpoints=endpoints, client_id=environment.get(f"{name}__clientId"))
    raise SettingError(
        f"There is no storage connection {name}: set {name} to a connection string, "
        f"or {name}__tableServiceUri (or {name}__accountName) for a managed identity."
    )


def index_account(environment: Mapping[str, str]) -> str:
    """The name of the storage account that holds the ledger and the catalog."""
    return storage_connection(INDEX_STORAGE.name, environment).account
