"""Storage accounts that do not answer: who waits for which, and who asks them whether they are back.

Nothing goes on without the main account, which has ledger and catalog. Nothing waits for any other account.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from shared.app.settings import INDEX_STORAGE
from shared.errors import IndexTablesError, StorageUnavailableError
from shared.tables.availability import probe, wait_until_available
from shared.tables.retry import RetryPolicy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from shared.app.connection_settings import StorageConnection
    from shared.app.connections import Connections
    from shared.tables.breaker import Breaker

# How long a function waits for storage before it raises: well within functionTimeout, with room for the batch itself.
OUTAGE_WAIT_SECONDS: Final = 300.0
# Time for one or two probes.
_PROBE: Final = RetryPolicy(open_seconds=3)

_log = logging.getLogger(__name__)


class Outages:
    """What this process knows of its storage accounts."""

    def __init__(
        self,
        connections: Connections,
        storage: Callable[[str], StorageConnection],
        account_names: Callable[[], Iterable[str]],
        steady_seconds: Callable[[], float],
    ) -> None:
        self._connections = connections
        self._storage = storage
        self._account_names = account_names
        self._steady_seconds = steady_seconds
        self._probes: dict[str, asyncio.Task[None]] = {}

    def is_down(self, name: str) -> bool:
        """Whether this process takes an account for dead."""
        return not self._breaker(name).is_closed

    def note_silence(self, name: str) -> None:
        """A batch has waited in vain: no other batch does, until the account answers a probe."""
        error = f"The storage account {name} gave no answer."
        if self._breaker(name).failed(self._steady_seconds(), error, is_silent=True):
            _log.error("A storage account does not answer: the breaker opens", extra={"account": name})

    async def wait_for_main(self) -> None:
        """Wait until the main account answers; raise `StorageUnavailableError` when that takes too long."""
        name = INDEX_STORAGE.name
        if self.is_down(name):
            async with self._connections.table_client(self._storage(name)) as client:
                await wait_until_available(client, OUTAGE_WAIT_SECONDS, self._steady_seconds)

    async def probe_all(self) -> None:
        """Ask all accounts that are down whether they answer again."""
        await asyncio.gather(*[self._probe(name) for name in self._account_names() if self.is_down(name)])

    def probe_beside(self, when_back: Callable[[], Awaitable[object]]) -> None:
        """The same without waiting for answers: the next batch knows them."""
        for name in self._account_names():
            if self.is_down(name) and name not in self._probes:
                self._probes[name] = asyncio.create_task(self._probe_then(name, when_back))

    async def _probe_then(self, name: str, when_back: Callable[[], Awaitable[object]]) -> None:
        try:
            await self._probe(name)
            if not self.is_down(name):
                await when_back()
        except IndexTablesError as error:
            _log.warning("The delivery to an account that is back failed, and a timer repeats it: %s", error)
        finally:
            del self._probes[name]

    async def _probe(self, name: str) -> None:
        """Ask an account. Its breaker hears the answer."""
        async with self._connections.table_client(self._storage(name), policy=_PROBE) as client:
            try:
                await probe(client)
            except StorageUnavailableError as error:
                _log.info("A storage account does not answer yet: %s", error, extra={"account": name})

    def _breaker(self, name: str) -> Breaker:
        return self._connections.breaker_of(self._connections.endpoint_of(self._storage(name)))
