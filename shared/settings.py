"""App settings: the one door to the environment.

Every setting that the product reads is declared here, with what it means. `local.settings.sample.json` and the
templates in `infra/` are held to this list by tests.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Mapping


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

ALL = (INDEX_STORAGE, INDEX_DEFINITIONS, COSMOS, EVENTHUB)

# Every hub that a source names has this consumer group: the templates and the local run create it.
EVENT_CONSUMER_GROUP = "index-tables"


@dataclass(frozen=True, slots=True)
class StorageConnection:
    """How to reach a storage account: by connection string, or by address with a managed identity."""

    connection_string: str | None = None
    table_endpoint: str | None = None
    client_id: str | None = None


def value(setting: Setting, environment: Mapping[str, str] = os.environ) -> str:
    """The setting's value or its default; an empty value counts as not set."""
    text = environment.get(setting.name) or setting.default
    if text is None:
        raise SettingError(f"The app setting {setting.name} is not set. It is: {setting.meaning}.")
    return text


def storage_connection(name: str, environment: Mapping[str, str] = os.environ) -> StorageConnection:
    """The storage connection called `name`, in either of the forms that Azure Functions has for connections.

    `NAME` holds a connection string, or `NAME__tableServiceUri` or `NAME__accountName` an address for a managed
    identity, whose client id may be in `NAME__clientId`.
    """
    if connection_string := environment.get(name):
        return StorageConnection(connection_string=connection_string)
    client_id = environment.get(f"{name}__clientId")
    if endpoint := environment.get(f"{name}__tableServiceUri"):
        return StorageConnection(table_endpoint=endpoint, client_id=client_id)
    if account := environment.get(f"{name}__accountName"):
        endpoint = f"https://{account}.table.core.windows.net"
        return StorageConnection(table_endpoint=endpoint, client_id=client_id)
    raise SettingError(
        f"There is no storage connection {name}: set {name} to a connection string, "
        f"or {name}__tableServiceUri (or {name}__accountName) for a managed identity."
    )
