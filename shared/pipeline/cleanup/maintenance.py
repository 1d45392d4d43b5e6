"""Later work that sweep messages and timers start: sweeping, expiry, and forgetting deleted facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.catalog.period_tables import drop_expired_tables
from shared.pipeline.cleanup.expiry import Expirer, ExpiryWalk, sweep_message
from shared.pipeline.cleanup.sweeper import Sweeper
from shared.pipeline.ledger.retention import Retention

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from shared.entries.projection.generations import SourcePlan
    from shared.pipeline.cleanup.messages import SweepQueue
    from shared.pipeline.concurrency import RunAll
    from shared.tables.accounts import Accounts


class Maintenance:
    """Cleans the tables and the ledger of all sources. `plans` returns what every source writes to."""

    def __init__(
        self,
        plans: Callable[[], Awaitable[Mapping[str, SourcePlan]]],
        accounts: Accounts,
        sweep_queue: SweepQueue,
        run_all: RunAll,
        now_seconds: Callable[[], float],
        sweep_delay_seconds: int,
        ledger_retention_seconds: int,
    ) -> None:
        self._plans = plans
        self._accounts = accounts
        self._now_seconds = now_seconds
        self._sweeper = Sweeper(accounts, run_all)
        self._expirer = Expirer(accounts, run_all, now_seconds)
        self._walk = ExpiryWalk(accounts, sweep_queue, now_seconds, sweep_delay_seconds)
        self._retention = Retention(accounts.main, ledger_retention_seconds, now_seconds)

    async def sweep(self, message: str | bytes) -> None:
        """Do what a sweep message asks for."""
        await sweep_message(message, self._sweeper, self._expirer)

    async def forget_deleted_facts(self) -> None:
        """Forget some of the facts that were deleted long ago; called every hour."""
        await self._retention.clean((await self._plans()).values())

    async def find_expired(self) -> None:
        """Look for expired entries on the next pages of their tables, and drop the tables of periods that are over;
        called every few minutes. The tables of future periods are created when plans are read."""
        plans = (await self._plans()).values()
        try:
            await self._walk.walk(plans)
        finally:  # an account that does not answer the first may answer the second
            await drop_expired_tables(self._accounts, plans, self._now_seconds())
