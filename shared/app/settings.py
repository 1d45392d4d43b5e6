"""App settings: the one door to the environment.

Every setting that the product reads is declared here, with what it means. `local.settings.sample.json` and the
templates in `infra/` are held to this list by tests.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from shared.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Mapping

ENVIRONMENT: Mapping[str, str] = os.environ


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting's name, its value when it is not set (none: it must be set), and what it means."""

    name: str
    default: str | None
    meaning: str


INDEX_STORAGE = Setting("INDEX_STORAGE", None, "Connection of the storage account that holds the index tables")
INDEX_DEFINITIONS = Setting("INDEX_DEFINITIONS", "indexes.yaml", "The file with the definitions, from the app's root")
COSMOS = Setting("COSMOS", None, "Connection of the Cosmos DB account that holds the facts")
EVENTHUB = Setting("EVENTHUB", None, "Connection of the Event Hubs namespace that facts arrive through")
FEED_POLL_DELAY_MS = Setting("FEED_POLL_DELAY_MS", "5000", "Milliseconds between two looks at a drained change feed")
SWEEP_DELAY_SECONDS = Setting(
    "SWEEP_DELAY_SECONDS",
    "3600",
    "How long tombstones stay: more than functionTimeout, lease expiry and retries",
)
PAGE_TOKEN_KEY = Setting(
    "PAGE_TOKEN_KEY",
    "",
    "Secret that seals page tokens, the same on all instances; empty: made from the storage account's key",
)
SEES_SECONDS = Setting("SEES_SECONDS", "5", "How long a lookup with `sees` waits for the change, in seconds")
READ_SECONDARY = Setting(
    "READ_SECONDARY", "false", "true: lookups read from the storage account's secondary endpoint when the primary fails"
)
MCP_TOOLS = Setting("MCP_TOOLS", "false", "true: each index is also a tool for assistants (Model Context Protocol)")

LEDGER_RETENTION_DAYS = Setting(
    "LEDGER_RETENTION_DAYS",
    "30",
    "How long deleted facts are remembered: longer than hubs and dead letters keep changes, and than any build runs",
)

DEAD_LETTER_RETENTION_DAYS = Setting(
    "DEAD_LETTER_RETENTION_DAYS",
    "14",
    "How long dead letters are kept: with the time that a hub keeps events, less than LEDGER_RETENTION_DAYS",
)
CATALOG_REFRESH_SECONDS = Setting(
    "CATALOG_REFRESH_SECONDS", "30", "How old the catalog may be, in seconds, that a batch or a lookup starts with"
)
BUILD_DELAY_SECONDS = Setting(
    "BUILD_DELAY_SECONDS",
    "1920",
    "How long a new generation waits to be built: more than CATALOG_REFRESH_SECONDS and functionTimeout",
)
GRACE_SECONDS = Setting(
    "GRACE_SECONDS",
    "86400",
    "How long a generation that serves no more, or whose definition is gone, stays: time to roll back and to page on",
)

VERIFY_SAMPLE = Setting("VERIFY_SAMPLE", "200", "How many facts of each index are verified every hour; 0: none")
VERIFY_FULL_DAYS = Setting("VERIFY_FULL_DAYS", "7", "After how many days all of an index is verified again; 0: never")
VERIFY_BUDGET = Setting(
    "VERIFY_BUDGET", "20", "Storage transactions per second of such a full verification; 0: no limit"
)
VERIFY_GRACE_SECONDS = Setting(
    "VERIFY_GRACE_SECONDS", "300", "A change that is younger and not applied yet is lag to a verification, not a fault"
)

ALL = (
    INDEX_STORAGE,
    INDEX_DEFINITIONS,
    COSMOS,
    EVENTHUB,
    FEED_POLL_DELAY_MS,
    SWEEP_DELAY_SECONDS,
    PAGE_TOKEN_KEY,
    SEES_SECONDS,
    READ_SECONDARY,
    MCP_TOOLS,
    LEDGER_RETENTION_DAYS,
    DEAD_LETTER_RETENTION_DAYS,
    CATALOG_REFRESH_SECONDS,
    BUILD_DELAY_SECONDS,
    GRACE_SECONDS,
    VERIFY_SAMPLE,
    VERIFY_FULL_DAYS,
    VERIFY_BUDGET,
    VERIFY_GRACE_SECONDS,
)

_NUMBERS = (
    FEED_POLL_DELAY_MS,
    SWEEP_DELAY_SECONDS,
    LEDGER_RETENTION_DAYS,
    DEAD_LETTER_RETENTION_DAYS,
    BUILD_DELAY_SECONDS,
    GRACE_SECONDS,
    VERIFY_SAMPLE,
    VERIFY_FULL_DAYS,
    VERIFY_BUDGET,
    VERIFY_GRACE_SECONDS,
)
_SECONDS = (SEES_SECONDS, CATALOG_REFRESH_SECONDS)
_SWITCHES = (READ_SECONDARY, MCP_TOOLS)

# Of the platform: the host's own storage, where our queues are, too; what wins over `functionTimeout` in host.json;
# where the app runs: Core Tools and the local run say Development; and whether it has a managed identity there.
HOST_STORAGE = "AzureWebJobsStorage"
FUNCTION_TIMEOUT = Setting("AzureFunctionsJobHost__functionTimeout", "", "How long a function may run, hh:mm:ss")
HOST_ENVIRONMENT = Setting("AZURE_FUNCTIONS_ENVIRONMENT", "", "Development on a developer's machine")
IDENTITY_ENDPOINT = Setting("IDENTITY_ENDPOINT", "", "Where Azure gives an app the tokens of its managed identity")
STORAGE_SERVICES = ("table", "queue", "blob")
# What `UseDevelopmentStorage=true` means.
EMULATOR_ACCOUNT = "devstoreaccount1"
SWEEP_QUEUE = "index-sweep"
TASK_QUEUE = "index-tasks"
DEAD_LETTER_CONTAINER = "dead-letters"


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
            return EMULATOR_ACCOUNT
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


def value(setting: Setting, environment: Mapping[str, str] = os.environ) -> str:
    """The setting's value or its default; an empty value counts as not set."""
    text = environment.get(setting.name) or setting.default
    if text is None:
        raise missing(setting)
    return text


def use(values: Mapping[str, str]) -> None:
    """Set app settings for this process: for commands that work without an app around them."""
    os.environ.update(values)


def missing(setting: Setting) -> SettingError:
    """The error for a setting that must be set and is not."""
    return SettingError(f"The app setting {setting.name} is not set. It is: {setting.meaning}.")


def number(setting: Setting, environment: Mapping[str, str] = os.environ) -> int:
    """A setting that is a whole number from 0 up."""
    text = value(setting, environment)
    if not (text.isascii() and text.isdecimal()):
        raise SettingError(f"The app setting {setting.name} is {text!r}: make it a whole number from 0 up.")
    return int(text)


def check_all(environment: Mapping[str, str] = os.environ) -> None:
    """Read every setting that is not just text: one that is wrong raises `SettingError` now, not when it is needed."""
    for setting in _NUMBERS:
        number(setting, environment)
    for setting in _SECONDS:
        seconds(setting, environment)
    for setting in _SWITCHES:
        switch(setting, environment)
    dead_letter_retention_days(environment)


def dead_letter_retention_days(environment: Mapping[str, str] = os.environ) -> int:
    """How long dead letters are kept; less than deleted facts are remembered, or a replay could bring one back."""
    days = number(DEAD_LETTER_RETENTION_DAYS, environment)
    ledger_days = number(LEDGER_RETENTION_DAYS, environment)
    if not 0 < days < ledger_days:
        raise SettingError(
            f"The app setting {DEAD_LETTER_RETENTION_DAYS.name} is {days}: make it at least 1 and less than "
            f"{LEDGER_RETENTION_DAYS.name}, which is {ledger_days}."
        )
    return days


def switch(setting: Setting, environment: Mapping[str, str] = os.environ) -> bool:
    """The value of a setting that is true or false."""
    text = value(setting, environment).lower()
    if text not in ("true", "false"):
        raise SettingError(f"The app setting {setting.name} is neither true nor false. It is: {setting.meaning}.")
    return text == "true"


def seconds(setting: Setting, environment: Mapping[str, str] = os.environ) -> float:
    """The value of a setting that is a number of seconds, from 0 up to a minute."""
    text = value(setting, environment)
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 60:
        raise SettingError(f"The app setting {setting.name} is no number from 0 to 60. It is: {setting.meaning}.")
    return found


def cosmos_connection(name: str, environment: Mapping[str, str] = os.environ) -> CosmosConnection:
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


def event_hubs_connection(name: str, environment: Mapping[str, str] = os.environ) -> EventHubsConnection:
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
    """Raise `SettingError` unless a connection string has these parts. The text is never repeated: it holds a key."""
    parts = {part.strip().partition("=")[0].lower() for part in text.split(";")}
    if lacking := [part for part in wanted if part.lower() not in parts]:
        raise SettingError(
            f"The app setting {name} is no connection string, it has no {' and no '.join(lacking)}: copy it again."
        )


def storage_connection(name: str, environment: Mapping[str, str] = os.environ) -> StorageConnection:
    """The storage connection called `name`, in either of the forms that Azure Functions has for connections.

    `NAME` holds a connection string; or `NAME__accountName`, or `NAME__tableServiceUri` and its like for queues and
    blobs, an address for a managed identity, whose client id may be in `NAME__clientId`.
    """
    if connection_string := environment.get(name):
        return StorageConnection(name, connection_string=connection_string)
    endpoints = {}
    for service in STORAGE_SERVICES:
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


def index_account(environment: Mapping[str, str] = os.environ) -> str:
    """The name of the storage account that the ledger and the catalog are in."""
    return storage_connection(INDEX_STORAGE.name, environment).account
