"""What lookups ask the ledger: has this change, or a newer one, reached an index, with its rows written?

A claim comes before its rows, so the rows are checked, too: the row of every current entry must be there, and the
newest row of every removed entry must be a tombstone, or there must be no row. While an account is owed something, the
change has not reached the index. Entries of periods that are over are not
shown, so their rows are not checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.entries.keys.fact_key import fact_hash
from shared.entries.keys.index_keys import row_key
from shared.entries.keys.versions import clock_of, ticks_of
from shared.entries.projection.generations import place_of
from shared.errors import TableMissingError
from shared.pipeline.entry_writes.stored_rows import list_rows_of
from shared.pipeline.ledger.rows import LEDGER_TABLE, decode, ledger_partition
from shared.pipeline.ledger.without_expired_periods import without_expired_periods
from shared.pipeline.summaries.row_reader import contribution_state

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from shared.entries.changes.seen_version import SeenVersion
    from shared.entries.projection.generations import Generation, Place, SourcePlan
    from shared.entries.summaries.totals import SummaryLayout
    from shared.pipeline.ledger.rows import GenerationState, LedgerRow
    from shared.tables.accounts import Accounts
    from shared.tables.port import Row


class LedgerView:
    """The ledger, for lookups. `plans` returns what every source writes to."""

    def __init__(
        self,
        plans: Callable[[], Awaitable[Mapping[str, SourcePlan]]],
        accounts: Accounts,
        now_seconds: Callable[[], float],
    ) -> None:
        self._plans = plans
        self._accounts = accounts
        self._now_seconds = now_seconds

    async def has_applied(self, source: str, generation_id: str, seen: SeenVersion) -> bool:
        """Whether a generation has a change that a caller knows of, or a newer one, with its rows written."""
        plan = (await self._plans())[source]
        generation = next((generation for generation in plan.generations if generation.id == generation_id), None)
        if generation is None:
            return False
        return await _has_applied(self._accounts, plan, generation, seen, self._now_seconds())


async def _has_applied(
    accounts: Accounts, plan: SourcePlan, generation: Generation, seen: SeenVersion, now_seconds: float
) -> bool:
    partition = ledger_partition(plan.source, fact_hash(seen.fact_key), plan.buckets)
    found = await accounts.main.get(LEDGER_TABLE, partition, seen.fact_key)
    if found is None:
        return False
    row = decode(found.entity)
    state = row.states.get(generation.id)
    if state is None or state.owed or not _is_claimed(row, state, seen):
        return False
    try:
        return await _is_written(accounts, generation, without_expired_periods(state, generation, now_seconds))
    except TableMissingError:
        if generation.periods is None:
            raise
        return False  # the table of a period is created with its first row


def _is_claimed(row: LedgerRow, state: GenerationState, seen: SeenVersion) -> bool:
    """Only the ETag distinguishes two versions of the same second; then only exactly that version counts."""
    if seen.declared_clock is not None:
        return clock_of(state.version) >= seen.declared_clock
    if row.source_etag is not None and row.source_etag == seen.etag:
        return True
    return seen.ts_seconds is not None and ticks_of(state.version) > seen.ts_seconds


async def _is_written(accounts: Accounts, generation: Generation, state: GenerationState) -> bool:
    if generation.layout is not None:
        return await _is_counted(accounts, generation, state, generation.layout)
    for entry in state.current:
        place = place_of(generation, entry.partition)
        tables = accounts.tables(place.account)
        if await tables.get(place.table, place.partition, row_key(entry.entry_key, entry.version)) is None:
            return False
    for removed in state.removed:
        place = place_of(generation, removed.partition)
        rows = await list_rows_of(accounts.tables(place.account), place.table, place.partition, removed.entry_key)
        if rows and not rows[0].is_tombstone:
            return False
    return True


async def _is_counted(
    accounts: Accounts, generation: Generation, state: GenerationState, layout: SummaryLayout
) -> bool:
    """The same for a summary: a contribution row is written together with its total."""
    for entry in state.current:
        row = await _row_at(accounts, place_of(generation, entry.partition), entry.entry_key)
        stored = contribution_state(row, layout).stored
        if stored is None or stored.at < entry.version:
            return False
    for removed in state.removed:
        row = await _row_at(accounts, place_of(generation, removed.partition), removed.entry_key)
        stored = contribution_state(row, layout).stored
        if stored is not None and stored.contribution is not None:
            return False
    return True


async def _row_at(accounts: Accounts, place: Place, row_key: str) -> Row | None:
    return await accounts.tables(place.account).get(place.table, place.partition, row_key)
