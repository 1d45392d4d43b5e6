"""One lease at work: read the feed of its range, call the function batch by batch, note how far it got.

Steps for each batch: read a page, call the function with its retry policy, checkpoint. A batch whose retries are used
up is checkpointed too and so is lost, because that is what the real extension does. Nothing is checkpointed when the
stop of the host began or the lease was lost before the function has ended, nor when the extension could not read the
page: then no function is called, and the range waits for a document that can be read.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any

from azure.core.exceptions import AzureError

from local.host.errors import FunctionTimedOutError, HostStoppingError, LeaseLostError, UnreadablePageError
from local.host.messages import TypedData
from local.host.runtime import Function, Invocation
from local.host.triggers.cosmos.lease_store import range_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from local.host.services import HostServices
    from local.host.triggers.cosmos.extension_json import ExtensionJson
    from local.host.triggers.cosmos.feed import ContainerFeed, FeedPage
    from local.host.triggers.cosmos.lease_store import LeaseStore
    from local.host.triggers.cosmos.options import CosmosTriggerOptions
    from shared.sources.feed_tokens import FeedPosition

log = logging.getLogger("host.cosmos")


class LeasePump:
    """Works on one lease until it is lost or the host stops."""

    def __init__(
        self,
        function: Function,
        services: HostServices,
        options: CosmosTriggerOptions,
        extension_json: ExtensionJson,
        feed: ContainerFeed,
        store: LeaseStore,
        lease: dict[str, Any],
    ) -> None:
        self._function = function
        self._services = services
        self._options = options
        self._json = extension_json
        self._feed = feed
        self._store = store
        self._lease = lease
        # Renewals and checkpoints change the same document: one at a time, each on the other's ETag.
        self._changing = asyncio.Lock()
        self._lost = asyncio.Event()

    async def run(self) -> None:
        """Read, call and checkpoint while the lease is renewed; release it in the end.

        A function that is running when the lease is lost goes on beside the new owner's, as in Azure.
        """
        renewing = asyncio.create_task(self._renew())
        try:
            await self._read()
        except LeaseLostError as error:
            log.info("%s", error)
        finally:
            renewing.cancel()
            with contextlib.suppress(AzureError, LeaseLostError):
                await self._store.release(self._lease)

    async def _renew(self) -> None:
        """Renew until the lease is lost; a fault of the service is only that until the lease expires."""
        while not self._lost.is_set():
            await asyncio.sleep(self._options.renew_seconds)
            try:
                await self._change(self._store.renew)
            except LeaseLostError:
                self._lost.set()
            except AzureError as error:
                log.warning("A lease cannot be renewed: %s", _first_line(error))

    async def _read(self) -> None:
        while not self._must_end():
            try:
                async for page in self._pages():
                    await self._handle(page)
                    if self._must_end():
                        return
            except AzureError as error:
                log.warning("The feed of %s cannot be read: %s", self._options.container, _first_line(error))
            except UnreadablePageError as error:
                log.error("%s is not called: %s", self._function.name, error)  # noqa: TRY400 - it says all
            await self._services.stop.sleep(self._options.poll_seconds)

    def _must_end(self) -> bool:
        return self._lost.is_set() or self._services.stop.requested

    def _pages(self) -> AsyncIterator[FeedPage]:
        return self._feed.pages(range_of(self._lease), self._lease["ContinuationToken"])

    async def _handle(self, page: FeedPage) -> None:
        if not page.documents:
            return
        value = TypedData(string=self._json.payload(page.documents))
        try:
            outcome = await self._services.invoker.call_with_retries(self._function, Invocation(value, {}))
        except (HostStoppingError, FunctionTimedOutError):
            return
        if self._services.stop.requested:
            return  # as in Azure: what ends after the stop began comes again
        if outcome.failure is not None:
            log.error("%s gave up a batch of %d; the feed goes on without it", self._function.name, len(page.documents))
        if len(page.positions) == 1:
            await self._change(lambda lease: self._store.checkpoint(lease, page.positions[0]["token"]))
        else:
            await self._split(page.positions)

    async def _split(self, positions: list[FeedPosition]) -> None:
        """A range that was split has a lease for each child from now on, so that hosts can share them."""
        ranges = await self._feed.ranges()
        async with self._changing:
            await self._store.split(self._lease, ranges, positions)
        log.info("The range of the lease %s was split into %d", self._lease["id"], len(positions))
        self._lost.set()

    async def _change(self, change: Callable[[dict[str, Any]], Any]) -> None:
        async with self._changing:
            self._lease = await change(self._lease)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
