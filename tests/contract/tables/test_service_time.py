"""A client learns the time from the service's answers."""

from __future__ import annotations

import time

from shared.app.world import TIMING
from shared.tables.client import TableClient
from shared.tables.retry import Timing
from shared.tables.wire.account import Account


async def test_a_client_with_a_wrong_clock_learns_the_time(azurite: str, table_name: str) -> None:
    """From whatever it asks first, also from an error."""
    ahead = Timing(lambda: time.time() + 900, TIMING.steady_seconds, TIMING.sleep, TIMING.chance)
    async with TableClient(Account.from_connection_string(azurite), ahead) as client:
        assert client.clock.now_seconds() > time.time() + 800
        await client.delete_table(table_name)
        assert abs(client.clock.now_seconds() - time.time()) < 30
