"""Later work that sweep messages and timers start: sweeping, expiry, and forgetting deleted facts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from shared.catalog.period_tables import drop_expired_tables
from shared.entries.keys.placement import DEFAULT_ACCOUNT
from shared.errors import StorageError
from shared.pipeline.account_calls import can_wait
from shared.pipeline.cleanup.expiry import Expirer, ExpiryWalk, sweep_named
from shared.pipeline.cleanup.messages import from_message, to_messages
from shared.pipeline.cleanup.sweeper import Sweeper
from shared.pipeline.cleanup.swept_keys import SweptKeys, announce_listed
from shared.pipeline.ledger.retention import Retention

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from shared.entries.projection.generations import SourcePlan
    from shared.pipeline.account_calls import AccountCalls
    from shared.pipeline.cleanup.messages import SweepQueue, Swept, Tombstone
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.summaries.sweeping import GoneContribution
    from shared.tables.accounts import Accounts


class Maintenance:
    """Cleans the tables and the ledger of all sources. `plans` returns what every source writes to."""

    def __init__(
        self,
        plans: Callable[[], Awaitable[Mapping[str, SourcePlan]]],
        accounts: Accounts,
        sweep_queue: SweepQueue,
        calls: Callable[[Iterable[str]], AccountCalls],
        now_seconds: Callable[[], float],
        sweep_delay_seconds: int,
        ledger_retention_seconds: int,
    ) -> None:
        self._plans = plans
        self._accounts = accounts
        self._now_seconds = now_seconds
        self._sweep_queue = sweep_queue
        self._calls = calls
        self._walk = ExpiryWalk(accounts, sweep_queue, now_seconds, sweep_delay_seconds)
        self._retention = Retention(
            accounts.main, ledger_retention_seconds, now_seconds, partial(announce_listed, sweep_queue)
        )

    async def sweep(self, message: str | bytes) -> None:
        """Do what a sweep message asks for. What is in an account that does not answer is asked for once more, after
        the delay: a message that failed a few times would be lost, and its tombstones would stay."""
        named: dict[str, list[Swept]] = {}
        for item in from_message(message):
            named.setdefault(item.place.account, []).append(item)
        calls = self._calls(named)
        swept: list[Tombstone | GoneContribution] = []
        for account, items in named.items():
            try:
                swept += await self._sweep(items, calls.only_in(account))
            except StorageError as error:
                if not can_wait(account, error):
                    raise
                for again in to_messages(items):
                    await self._sweep_queue.send(again)
        await self._forget(swept)

    async def _forget(self, swept: Sequence[Tombstone | GoneContribution]) -> None:
        if swept:
            run_all = self._calls([DEFAULT_ACCOUNT]).only_in(DEFAULT_ACCOUNT)
            swept_keys = SweptKeys(self._accounts.main, self._sweep_queue, run_all)
            await swept_keys.forget((await self._plans()).values(), swept)

    async def _sweep(self, named: Sequence[Swept], run_all: RunAll) -> list[Tombstone | GoneContribution]:
        sweeper = Sweeper(self._accounts, run_all)
        return await sweep_named(named, sweeper, Expirer(self._accounts, run_all, self._now_seconds))

    async def forget_deleted_facts(self) -> None:
        """Forget some of the facts that were deleted long ago; called every hour."""
        plans = (await self._plans()).values()
        await self._retention.clean(plans)
        await self._retention.forget_bookmarks_but_of(plans)

    async def find_expired(self) -> None:
        """Look for expired entries on the next pages of their tables, and drop the tables of periods that are over;
        called every few minutes. The tables of future periods are created when plans are read."""
        plans = (await self._plans()).values()
        try:
            await self._walk.walk(plans)
        finally:  # an account that does not answer the first may answer the second
            await drop_expired_tables(self._accounts, plans, self._now_seconds())
