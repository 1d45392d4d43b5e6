"""Where an account of Cosmos DB takes writes: in several regions nobody knows the order of two versions of a fact."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from shared.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from azure.cosmos import DatabaseAccount
    from azure.cosmos.aio import CosmosClient

ASKED_AGAIN_SECONDS: Final = 3600.0
TRIED_AGAIN_SECONDS: Final = 60.0
_ANSWER_SECONDS: Final = 30.0

_log = logging.getLogger(__name__)


class WriteRegions:
    """Asks beside everything else: nothing waits for the account."""

    def __init__(self, connect: Callable[[], CosmosClient], steady_seconds: Callable[[], float]) -> None:
        self._connect = connect
        self._steady_seconds = steady_seconds
        self._names: tuple[str, ...] = ()
        self._next_at: float | None = None
        self._asking: asyncio.Task[None] | None = None

    def last_known(self) -> tuple[str, ...]:
        """What the account said last; none before it has answered. It is asked again, soon if it failed."""
        now = self._steady_seconds()
        if self._next_at is None or now >= self._next_at:
            self._next_at = now + TRIED_AGAIN_SECONDS
            self._asking = asyncio.create_task(self.ask())
        return self._names

    async def ask(self) -> None:
        """Ask now. An account that does not answer leaves what is known: others say that it does not."""
        from azure.core.exceptions import AzureError

        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                account = await self._account()
        except (AzureError, OSError, SettingError, ValueError) as error:
            _log.debug("The write regions of Cosmos DB are not known", extra={"reason": type(error).__name__})
            return
        # The SDK has no public name for it.
        several = account.WritableLocations if account._EnableMultipleWritableLocations else ()  # noqa: SLF001
        self._names = tuple([location["name"] for location in several])
        self._next_at = self._steady_seconds() + ASKED_AGAIN_SECONDS

    async def _account(self) -> DatabaseAccount:
        client = self._connect()
        try:
            return await client._get_database_account()  # noqa: SLF001
        finally:
            await client.close()
