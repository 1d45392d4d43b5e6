"""A budget of storage transactions per second, for work that must leave room for the live feed.

Every request through `Metered` tables is counted, and waits until the budget has room for it. Time is a parameter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shared.tables.accounts import Accounts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from shared.tables.port import Continuation, Operation, Page, Row, RowRange, Tables

# So much may be saved up while nothing is sent: enough for one burst, not for a flood.
_BURST_SECONDS: Final = 1.0


class Budget:
    """Lets so many requests pass per second; no limit for None."""

    def __init__(
        self,
        per_second: float | None,
        steady_seconds: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._per_second = per_second
        self._steady_seconds = steady_seconds
        self._sleep = sleep
        self._next_at = steady_seconds()
        self.spent = 0

    async def spend(self) -> None:
        """Wait until one more request fits."""
        self.spent += 1
        if self._per_second is None:
            return
        now = self._steady_seconds()
        # Each caller is given the next free moment at once, so that several that wait do not start together.
        moment = max(self._next_at, now - _BURST_SECONDS)
        self._next_at = moment + 1 / self._per_second
        if moment > now:
            await self._sleep(moment - now)


class Metered:
    """Tables whose requests wait for a budget."""

    def __init__(self, tables: Tables, budget: Budget) -> None:
        self._tables = tables
        self._budget = budget

    async def get(self, table: str, partition: str, row: str) -> Row | None:
        """The row with this key, or None."""
        await self._budget.spend()
        return await self._tables.get(table, partition, row)

    async def transact(self, table: str, operations: Sequence[Operation]) -> tuple[str | None, ...]:
        """Apply all operations or none."""
        await self._budget.spend()
        return await self._tables.transact(table, operations)

    async def query(
        self,
        table: str,
        rows: RowRange | None,
        *,
        limit: int | None = None,
        select: Sequence[str] = (),
        continuation: Continuation | None = None,
    ) -> Page:
        """One page."""
        await self._budget.spend()
        return await self._tables.query(table, rows, limit=limit, select=select, continuation=continuation)

    async def create_table(self, table: str) -> bool:
        """Create the table if it is absent."""
        await self._budget.spend()
        return await self._tables.create_table(table)

    async def delete_table(self, table: str) -> bool:
        """Delete the table with all its rows."""
        await self._budget.spend()
        return await self._tables.delete_table(table)

    async def list_tables(self, prefix: str) -> tuple[str, ...]:
        """The tables whose names begin like this."""
        await self._budget.spend()
        return await self._tables.list_tables(prefix)


def metered(accounts: Accounts, budget: Budget) -> Accounts:
    """The same accounts, with every request counted against a budget."""
    return Accounts(_MeteredAccounts(accounts, budget))


class _MeteredAccounts(dict[str, Any]):
    """Each account when it is first asked for."""

    def __init__(self, accounts: Accounts, budget: Budget) -> None:
        super().__init__()
        self._accounts = accounts
        self._budget = budget

    def __missing__(self, name: str) -> Metered:
        return self.setdefault(name, Metered(self._accounts.tables(name), self._budget))  # type: ignore[no-any-return]  # its values are `Any`
