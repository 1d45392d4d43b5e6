"""Writes entry rows in two steps: first every live row; then, when these are acknowledged, the removals.

So a reader may see a fact twice for a moment, but never misses it. The newest row of each entry key is the wanted one,
a live row or a tombstone; older rows are deleted together with writing it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from shared.entries.keys.index_keys import row_key
from shared.entries.projection.generations import place_of
from shared.entries.rows.entry_row import live_row, tombstone_row
from shared.pipeline.entry_writes.stored_rows import list_rows_of
from shared.pipeline.entry_writes.transaction_buffer import EntryWrite, TransactionBuffer
from shared.tables.port import Delete, Upsert

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shared.entries.projection.generations import Place
    from shared.pipeline.account_calls import AccountCalls
    from shared.pipeline.entry_writes.stored_rows import StoredRow
    from shared.pipeline.entry_writes.transaction_buffer import WriteFailures
    from shared.pipeline.entry_writes.writes import EarlyRemoval, GenerationWrites, LiveWrite, Removal
    from shared.tables.accounts import Accounts
    from shared.tables.port import Operation


class WantedRow(NamedTuple):
    """The newest row that an entry key of a fact should have, and the key of the row that it replaces."""

    fact: str
    place: Place
    entry_key: str
    version: str
    row: Upsert
    is_tombstone: bool
    replaced_row: str | None


class EntryWriter:
    """Sends the writes of many facts together."""

    def __init__(self, accounts: Accounts, calls: AccountCalls) -> None:
        self._accounts = accounts
        self.calls = calls

    def new_buffer(self) -> TransactionBuffer:
        """A buffer without writes."""
        return TransactionBuffer(self._accounts, self.calls)

    async def write_live(self, all_writes: Iterable[tuple[str, GenerationWrites]]) -> WriteFailures:
        """Write live rows, the first step; return what failed."""
        buffer = self.new_buffer()
        await self.add_live(buffer, all_writes)
        return await self._finished(buffer)

    async def add_live(self, buffer: TransactionBuffer, all_writes: Iterable[tuple[str, GenerationWrites]]) -> None:
        """Add live rows to a buffer, which sends full transactions."""
        known: list[WantedRow] = []
        unknown: list[WantedRow] = []
        for fact, writes in all_writes:
            wanted = [_wanted_live(fact, writes, live_write) for live_write in writes.current]
            (unknown if writes.must_list else known).extend(wanted)
        await self._add(buffer, known, unknown)

    async def write_removals(self, all_writes: Iterable[tuple[str, GenerationWrites]]) -> WriteFailures:
        """Write removals, the second step; return what failed."""
        known: list[WantedRow] = []
        unknown: list[WantedRow] = []
        for fact, writes in all_writes:
            wanted = [_tombstone(fact, writes, removal) for removal in writes.removed]
            (unknown if writes.must_list else known).extend(wanted)
        return await self._write(known, unknown)

    async def write_early_removals(self, early_removals: Iterable[tuple[str, EarlyRemoval]]) -> WriteFailures:
        """Write tombstones of previous versions; return what failed. The rows that they hide are most likely
        gone; if not, the sweep finds them."""
        wanted = [
            _tombstone(fact, removal_writes, removal)
            for fact, removal_writes in early_removals
            for removal in removal_writes.removed
        ]
        return await self._write(wanted, [])

    async def _write(self, known: Sequence[WantedRow], unknown: Sequence[WantedRow]) -> WriteFailures:
        buffer = self.new_buffer()
        await self._add(buffer, known, unknown)
        return await self._finished(buffer)

    async def _finished(self, buffer: TransactionBuffer) -> WriteFailures:
        await buffer.finish()
        return buffer.failures

    async def _add(self, buffer: TransactionBuffer, known: Sequence[WantedRow], unknown: Sequence[WantedRow]) -> None:
        writes = [EntryWrite(wanted.fact, wanted.place, _operations(wanted)) for wanted in known]
        to_list = [(wanted.place.account, partial(self._list, wanted)) for wanted in unknown]
        listings = await self.calls(to_list) if to_list else []
        for wanted, rows in zip(unknown, listings, strict=True):
            if isinstance(rows, Exception):
                buffer.failures[wanted.fact, wanted.place.account] = rows
            elif operations := _missing_operations(wanted, rows):
                writes.append(EntryWrite(wanted.fact, wanted.place, operations))
        await buffer.add(writes)

    async def _list(self, wanted: WantedRow) -> list[StoredRow]:
        place = wanted.place
        return await list_rows_of(self._accounts.tables(place.account), place.table, place.partition, wanted.entry_key)


def _wanted_live(fact: str, writes: GenerationWrites, live_write: LiveWrite) -> WantedRow:
    partition, entry_key, version, columns, replaces = live_write
    row = Upsert(live_row(partition, entry_key, version, columns))
    replaced_row = None if replaces is None or replaces == version else row_key(entry_key, replaces)
    place = place_of(writes.generation, partition)
    return WantedRow(fact, place, entry_key, version, row, is_tombstone=False, replaced_row=replaced_row)


def _tombstone(fact: str, writes: GenerationWrites | EarlyRemoval, removal: Removal) -> WantedRow:
    partition, entry_key, replaces = removal
    row = Upsert(tombstone_row(partition, entry_key, writes.version))
    replaced_row = None if replaces is None or replaces == writes.version else row_key(entry_key, replaces)
    place = place_of(writes.generation, partition)
    return WantedRow(fact, place, entry_key, writes.version, row, is_tombstone=True, replaced_row=replaced_row)


def _operations(wanted: WantedRow) -> tuple[Operation, ...]:
    if wanted.replaced_row is None:
        return (wanted.row,)
    return (wanted.row, Delete(wanted.place.partition, wanted.replaced_row))


def _missing_operations(wanted: WantedRow, rows: Sequence[StoredRow]) -> tuple[Operation, ...]:
    """The operations that lead from the listed rows to the wanted row: write it, unless it or a newer row is there, and
    delete older rows."""
    is_there = any(row.version > wanted.version or _is_wanted(row, wanted) for row in rows)
    older = [Delete(wanted.place.partition, row.row_key) for row in rows if row.version < wanted.version]
    # The oldest first, in case they need more than one transaction: no newer row is deleted before an older one.
    return (*(() if is_there else (wanted.row,)), *reversed(older))


def _is_wanted(row: StoredRow, wanted: WantedRow) -> bool:
    return row.version == wanted.version and row.is_tombstone == wanted.is_tombstone
