"""The whole service: its parts, put together, and the way from a path to the handler that answers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from local.emulators.cosmos.data.clock import Clock
from local.emulators.cosmos.data.containers import Containers
from local.emulators.cosmos.data.databases import Databases
from local.emulators.cosmos.data.expiry import Expiry
from local.emulators.cosmos.data.items import Items
from local.emulators.cosmos.errors import NotFoundError
from local.emulators.cosmos.exchange import Answer, Call, answer_json
from local.emulators.cosmos.http.account import describe_account
from local.emulators.cosmos.http.faults import Faults
from local.emulators.cosmos.http.switches import Switches
from local.emulators.cosmos.routes.batch import Batches
from local.emulators.cosmos.routes.catalog_routes import CatalogRoutes
from local.emulators.cosmos.routes.change_feed import ChangeFeed
from local.emulators.cosmos.routes.item_routes import ItemRoutes
from local.emulators.cosmos.routes.item_writes import Writes
from local.emulators.cosmos.routes.queries import Queries

if TYPE_CHECKING:
    from local.emulators.cosmos.data.store import DocumentStore

# Kinds of resources that exist in Azure and are always empty here, by where their lists are.
_EMPTY_BELOW_CONTAINER = {
    "sprocs": "StoredProcedures",
    "triggers": "Triggers",
    "udfs": "UserDefinedFunctions",
    "conflicts": "Conflicts",
}
_EMPTY_BELOW_DATABASE = {"users": "Users", "clientencryptionkeys": "ClientEncryptionKeys"}


@dataclass(frozen=True, slots=True)
class CosmosService:
    """Answers every signed request."""

    endpoint: str
    catalog: CatalogRoutes
    items: ItemRoutes
    expiry: Expiry
    switches: Switches
    faults: Faults

    async def answer(self, call: Call) -> Answer:
        """Route a request by the shape of its path."""
        path = call.path
        if not path:
            return answer_json(200, describe_account(self.endpoint))
        if path[0] == "offers" and len(path) == 1:
            return self.catalog.empty(call, "Offers")
        if path[0] != "dbs" or len(path) > 6:
            raise _nothing_at(call)
        if len(path) <= 2:
            return self.catalog.all_databases(call) if len(path) == 1 else self.catalog.one_database(call)
        if len(path) <= 4:
            return self._below_database(call)
        return await self._below_container(call)

    def _below_database(self, call: Call) -> Answer:
        kind = call.path[2]
        if kind == "colls":
            is_list = len(call.path) == 3
            return self.catalog.all_containers(call) if is_list else self.catalog.one_container(call)
        if kind in _EMPTY_BELOW_DATABASE and len(call.path) == 3:
            self.catalog.database(call.path[1])
            return self.catalog.empty(call, _EMPTY_BELOW_DATABASE[kind])
        raise _nothing_at(call)

    async def _below_container(self, call: Call) -> Answer:
        kind = call.path[4]
        if call.path[2] == "colls" and kind == "docs":
            container = self.catalog.container(call)
            if len(call.path) == 5:
                return await self.items.collection(call, container)
            return self.items.item(call, container, self.catalog.item_id(call, container))
        if call.path[2] == "colls" and len(call.path) == 5:
            if kind == "pkranges":
                return self.catalog.ranges(call)
            if kind in _EMPTY_BELOW_CONTAINER:
                self.catalog.container(call)
                return self.catalog.empty(call, _EMPTY_BELOW_CONTAINER[kind])
        raise _nothing_at(call)


def _nothing_at(call: Call) -> NotFoundError:
    return NotFoundError(f"There is nothing at /{'/'.join(call.path)} in the local Cosmos DB.")


def build_service(store: DocumentStore, endpoint: str, range_count: int, *, gives_previous: bool) -> CosmosService:
    """The service over an open store."""
    clock = Clock()
    databases = Databases(store, clock)
    containers = Containers(store, clock, range_count)
    items = Items(store, clock)
    writes = Writes(items)
    catalog = CatalogRoutes(store, databases, containers)
    expiry = Expiry(store, clock, databases, containers, items)
    faults = Faults()
    routes = ItemRoutes(
        store=store,
        writes=writes,
        feed=ChangeFeed(store, clock, gives_previous),
        queries=Queries(store, clock),
        batches=Batches(store, writes),
    )
    return CosmosService(endpoint, catalog, routes, expiry, Switches(faults, clock, expiry, catalog), faults)
