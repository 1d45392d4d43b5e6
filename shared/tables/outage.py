"""Waiting for an account to answer again, before a batch is begun: at one request a second and no CPU.

A function that waits here goes on at once when storage is back. The host's own retries would come up to their longest
interval later, and would read, decode and project the batch again each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shared.errors import StorageUnavailableError, TableMissingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.tables.client import TableClient

# A row that never is there: the cheapest question that the service can answer.
PROBED_TABLE: Final = "Ledger"
PROBED_KEY: Final = "probe"


async def probe(client: TableClient) -> None:
    """Raise unless the account answers; that a table is missing is an answer."""
    try:
        await client.get(PROBED_TABLE, PROBED_KEY, PROBED_KEY)
    except TableMissingError:
        return


async def until_it_answers(client: TableClient, within_seconds: float, steady_seconds: Callable[[], float]) -> None:
    """Return at once while the account's breaker is closed, else when it closes; raise when that takes too long."""
    deadline = steady_seconds() + within_seconds
    while not client.breaker.is_closed:
        try:
            await probe(client)
        except StorageUnavailableError:
            if steady_seconds() >= deadline:
                raise
