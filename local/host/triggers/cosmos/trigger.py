"""The trigger of one function: makes the leases, takes its share of them, works on each."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from azure.core.exceptions import AzureError
from azure.cosmos import PartitionKey
from azure.cosmos.aio import CosmosClient
from azure.cosmos.exceptions import CosmosResourceNotFoundError

from local.host.errors import LeaseLostError
from local.host.triggers.cosmos.balance import leases_to_take
from local.host.triggers.cosmos.extension_json import ExtensionJson
from local.host.triggers.cosmos.feed import ContainerFeed
from local.host.triggers.cosmos.lease_store import LeaseStore, overlap, range_of
from local.host.triggers.cosmos.options import ALL_VERSIONS, from_binding
from local.host.triggers.cosmos.pump import LeasePump
from local.process.errors import LocalRunError

if TYPE_CHECKING:
    from azure.cosmos.aio import ContainerProxy

    from local.host.runtime import Function
    from local.host.services import HostServices

log = logging.getLogger("host.cosmos")

# The words that lease documents use for the two modes.
LEASE_MODES = {ALL_VERSIONS: "Full-Fidelity Feed"}
LATEST_LEASE_MODE = "Incremental Feed"


class CosmosTrigger:
    """Calls one function with the changes of one container."""

    def __init__(self, function: Function, services: HostServices) -> None:
        self._function = function
        self._services = services
        self._options = from_binding(function.trigger, services.settings)
        self._json = ExtensionJson.from_host_json(services.host_json.extension("cosmosDB"), services.settings)
        self._owner = str(uuid.uuid4())
        self._pumps: dict[str, asyncio.Task[None]] = {}
        self._clients = contextlib.AsyncExitStack()

    async def prepare(self) -> None:
        """Reach both containers and make the leases, so that changes from now on are seen."""
        container = await self._reach(
            self._options.connection, self._options.database, self._options.container, create=False
        )
        leases = await self._reach(
            self._options.lease_connection,
            self._options.lease_database,
            self._options.lease_container,
            create=self._options.create_lease_container,
        )
        described = await container.read()
        self._feed = ContainerFeed(container, described["_rid"], self._options)
        # Of "dbs/DATABASE/colls/CONTAINER/": the resource id of the database.
        names = (described["_self"].split("/")[1], self._options.database)
        host = urlsplit(container.client_connection.url_connection).hostname
        self._store, former = (
            LeaseStore(
                leases,
                f"{self._options.lease_prefix}{host}_{name}_{described['_rid']}",
                self._owner,
                self._options.lease_expiry_seconds,
            )
            for name in names
        )
        ranges = await self._feed.ranges()
        await former.move(self._store, ranges)
        await self._make_leases(ranges)

    async def listen(self) -> None:
        """Take leases, work on them, give them back when the host stops."""
        try:
            while not self._services.stop.requested:
                try:
                    await self._balance()
                except AzureError as error:
                    log.warning("The leases of %s cannot be read: %s", self._function.name, error)
                await self._services.stop.sleep(self._options.acquire_seconds)
                self._collect_ended()
            await asyncio.gather(*self._pumps.values())
        finally:
            for pump in self._pumps.values():
                pump.cancel()
            await asyncio.gather(*self._pumps.values(), return_exceptions=True)
            await self._clients.aclose()

    async def _reach(self, connection: str, database: str, container: str, *, create: bool) -> ContainerProxy:
        client = CosmosClient.from_connection_string(self._services.connection_string(connection))
        await self._clients.enter_async_context(client)
        try:
            if create:
                return await client.get_database_client(database).create_container_if_not_exists(
                    container, PartitionKey("/id")
                )
            reached = client.get_database_client(database).get_container_client(container)
            await reached.read()
        except CosmosResourceNotFoundError:
            raise LocalRunError(
                f"Function {self._function.name}: there is no container {container} in the database {database}."
            ) from None
        return reached

    async def _make_leases(self, ranges: dict[str, dict[str, Any]]) -> None:
        mode = LEASE_MODES.get(self._options.mode, LATEST_LEASE_MODE)
        existing = await self._store.all()
        self._check_mode(existing, mode)
        for feed_range in ranges.values():
            # A host may have died after some of them; ranges that were split meanwhile are their parent's.
            if not any(overlap(range_of(lease), feed_range) for lease in existing):
                etag = await self._feed.position_now(feed_range) if self._feed.starts_now else None
                await self._store.create(ranges, feed_range, mode, etag)
        await self._store.note_completeness()

    def _check_mode(self, leases: list[dict[str, Any]], mode: str) -> None:
        if any(lease.get("Mode", LATEST_LEASE_MODE) != mode for lease in leases):
            raise LocalRunError(
                f"Function {self._function.name}: its leases were made for another change feed mode, which a lease "
                "cannot change; give the trigger a leaseContainerPrefix of its own."
            )

    async def _balance(self) -> None:
        leases = {lease["id"]: lease for lease in await self._store.all()}
        holdings = [self._store.holding(lease) for lease in leases.values()]
        for lease_id in leases_to_take(holdings, self._owner):
            if lease_id in self._pumps:
                continue
            with contextlib.suppress(LeaseLostError):
                self._start(await self._store.take(leases[lease_id]))

    def _start(self, lease: dict[str, Any]) -> None:
        pump = LeasePump(self._function, self._services, self._options, self._json, self._feed, self._store, lease)
        self._pumps[lease["id"]] = asyncio.create_task(pump.run())

    def _collect_ended(self) -> None:
        """Forget pumps whose lease went elsewhere; a pump that failed for good ends the trigger with its reason."""
        for lease_id, pump in list(self._pumps.items()):
            if pump.done():
                del self._pumps[lease_id]
                pump.result()
