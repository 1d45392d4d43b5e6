"""Tables per period: which of them a generation has, and the end of those that are over.

The storage service itself is the list of periods. Entries of a period that is over are not shown: its table goes as a
whole, in every account, and the ledger drops its entries without being touched. A request on its way may make the table
once more; the next run drops it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from shared.entries.keys.periods import UNDATED, table_of
from shared.errors import StorageUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from shared.entries.projection.generations import Generation, SourcePlan
    from shared.tables.accounts import Accounts

# Per run: as many as months have passed in eight years.
DROPPED_MAX: Final = 100

_log = logging.getLogger(__name__)


class PeriodTable(NamedTuple):
    """A table of a generation that is there, and the first day of its period."""

    account: str
    table: str
    start: str


async def tables_of(accounts: Accounts, generation: Generation) -> list[PeriodTable]:
    """All tables of a generation: its own in every account, there or not, and those of periods that are there."""
    found = [PeriodTable(account, table, UNDATED) for account, table in sorted(generation.tables())]
    for account, _, _ in tuple(found):
        found += await _periods_in(accounts, account, generation)
    return found


async def _periods_in(accounts: Accounts, account: str, generation: Generation) -> list[PeriodTable]:
    """The tables of periods that a generation has in one account."""
    if generation.periods is None:
        return []
    names = await accounts.tables(account).list_tables(f"{generation.table}p")
    starts = generation.periods.starts_in(names, generation.table)
    return [PeriodTable(account, table_of(generation.table, start), start) for start in starts]


async def create_near_tables(
    accounts: Accounts, account: str, generation: Generation, wanted: AbstractSet[str]
) -> None:
    """Make the tables of near periods in an account, before the first entry misses them. Mostly all of them are there,
    and one list call says so."""
    there = {found.table for found in await _periods_in(accounts, account, generation)}
    for table in sorted(wanted - there):
        await accounts.tables(account).create_table(table)


async def drop_expired_tables(accounts: Accounts, plans: Iterable[SourcePlan], now_seconds: float) -> int:
    """Drop the tables of periods that are over, at most so many; how many went.

    An account that does not answer does not stop the others; its error is raised in the end.
    """
    dropped = 0
    unavailable: StorageUnavailableError | None = None
    generations = [each for plan in plans for each in plan.generations if each.periods is not None]
    for generation in generations:
        for account, _ in sorted(generation.tables()):
            try:
                for period in await _periods_in(accounts, account, generation):
                    if dropped < DROPPED_MAX and generation.is_period_over(period.start, now_seconds):
                        dropped += await accounts.tables(account).delete_table(period.table)
            except StorageUnavailableError as error:
                unavailable = unavailable or error
    if generations:
        _log.info("Dropped the tables of periods that are over", extra={"dropped": dropped})
    if unavailable is not None:
        raise unavailable
    return dropped
