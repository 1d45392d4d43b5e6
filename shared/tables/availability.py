"""Whether a storage account answers, and waiting until it does, before a batch starts: one request a second, no CPU.

A function that waits here continues as soon as storage is back. The host's own retries would come up to their longest
interval later, and would read, decode and project the batch again each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shared.errors import StorageUnavailableError, TableMissingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.tables.client import TableClient

# A row that never exists: the cheapest request that the service can answer.
PROBED_TABLE: Final = "Ledger"
PROBED_KEY: Final = "probe"


async def probe(client: TableClient) -> None:
    """Raise unless the account answers; a missing table is an answer, too."""
    try:
        await client.get(PROBED_TABLE, PROBED_KEY, PROBED_KEY)
    except TableMissingError:
        return


async def wait_until_available(client: TableClient, within_seconds: float, steady_seconds: Callable[[], float]) -> None:
    """Return when the account's breaker is closed; raise `StorageUnavailableError` when that takes too long."""
    deadline = steady_seconds() + within_seconds
    while not client.breaker.is_closed:
        try:
            await probe(client)
        except StorageUnavailableError:
            if steady_seconds() >= deadline:
                raise
