"""What every part of a process needs: settings, definitions, time and connections, each made once."""

from __future__ import annotations

from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

from shared.app import settings as names
from shared.app.connection_settings import cosmos_connection, storage_connection
from shared.app.settings import missing
from shared.definitions.files import read_for_start
from shared.entries.keys.placement import AccountMap
from shared.errors import IndexTablesError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from azure.cosmos.aio import CosmosClient

    from shared.app.connection_settings import StorageConnection
    from shared.app.connections import Connections
    from shared.app.feeds import Feeds
    from shared.app.outages import Outages
    from shared.app.settings import Settings
    from shared.app.world import World
    from shared.definitions.loading.load import Loaded
    from shared.sources.write_regions import WriteRegions
    from shared.web.access import Rights


class Process:
    """The base of one process. A start imports as little as possible: properties import what they need."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self.root = root
        self.settings = settings

    @cached_property
    def definitions(self) -> Loaded:
        """The definitions that this app serves, with their faults, if any."""
        return read_for_start(self.root / self.settings.value(names.INDEX_DEFINITIONS))

    @cached_property
    def world(self) -> World:
        """Time and ids."""
        from shared.app.world import real_world

        return real_world()

    @cached_property
    def connections(self) -> Connections:
        """The factory of clients for Azure services."""
        from shared.app.connections import Connections

        return Connections(self.settings, self.world)

    @cached_property
    def feeds(self) -> Feeds:
        """Where changes come from."""
        from shared.app.feeds import Feeds

        return Feeds(self.settings.environment, self.connections, self.world.clock.now_seconds)

    @cached_property
    def outages(self) -> Outages:
        """Which storage accounts answer."""
        from shared.app.outages import Outages

        return Outages(self.connections, self.storage, self.account_names, self.world.timing.steady_seconds)

    def storage(self, name: str) -> StorageConnection:
        """A storage account by the name of its connection."""
        return storage_connection(name, self.settings.environment)

    def account_names(self) -> list[str]:
        """The connections whose accounts hold tables: the default one, and those that indexes are placed on."""
        indexes = self.definitions.definitions.indexes.values()
        return sorted({names.INDEX_STORAGE.name, *(name for index in indexes for name in AccountMap(index).accounts)})

    def cosmos(self) -> CosmosClient:
        """A new client of the account that holds the facts."""
        return self.connections.cosmos_client(cosmos_connection(names.COSMOS.name, self.settings.environment))

    @cached_property
    def write_regions(self) -> WriteRegions:
        """Where the account of the sources takes writes."""
        from shared.sources.write_regions import WriteRegions

        return WriteRegions(self.cosmos, self.world.timing.steady_seconds)

    @property
    def is_entra(self) -> bool:
        """Whether callers are known by Entra ID, and not by keys of the host."""
        return self.settings.value(names.ACCESS) == "entra"

    def rights(self, headers: Mapping[str, str]) -> Rights:
        """What the caller who sent these headers may do; raises while that cannot be known."""
        from shared.web.access import Rights, signed_in

        if not self.is_entra:
            return Rights(self.definitions.definitions.access, None)
        tenants = [tenant.strip() for tenant in self.settings.value(names.ACCESS_TENANTS).split(",") if tenant.strip()]
        rights = signed_in(self.definitions.definitions.access, headers, tenants)
        self.definitions.require()  # after the caller is known: faults are for nobody else
        return rights

    def tells_details(self, headers: Mapping[str, str]) -> bool:
        """Whether a call that is open to all may say what is wrong: on a developer's machine, and to operators who are
        known by Entra ID. A key is not checked for such a call."""
        if self.settings.value(names.HOST_ENVIRONMENT) == "Development":
            return True
        return self.is_entra and self._is_operator(headers)

    def _is_operator(self, headers: Mapping[str, str]) -> bool:
        try:
            self.rights(headers).require_operator()
        except IndexTablesError:
            return False
        return True

    def page_token_key(self) -> bytes:
        """From the setting, else from the account's key: both are secret, and the same in all instances of the app."""
        connection = self.storage(names.INDEX_STORAGE.name)
        account = self.connections.account_of(connection) if connection.connection_string else None
        secret = self.settings.value(names.PAGE_TOKEN_KEY) or (account and account.key)
        if not secret:
            raise missing(names.PAGE_TOKEN_KEY)
        return sha256(f"page tokens\0{secret}".encode()).digest()
