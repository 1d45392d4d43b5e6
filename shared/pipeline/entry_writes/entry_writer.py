"""Writes entry rows in two waves: first every live row; then, when these are acknowledged, the tombstones that wait.

The newest row of each entry key is the wanted one, a live row or a tombstone; older rows are deleted together with
writing it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.pipeline.entry_writes.look import look
from shared.pipeline.entry_writes.transaction_buffer import EntryWrite, TransactionBuffer
from shared.pipeline.entry_writes.waves import early_tombstones, first_wave, second_wave
from shared.tables.port import Delete

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shared.pipeline.account_calls import AccountCalls
    from shared.pipeline.entry_writes.look import Looked
    from shared.pipeline.entry_writes.stored_rows import StoredRow
    from shared.pipeline.entry_writes.transaction_buffer import WriteFailures
    from shared.pipeline.entry_writes.waves import Together, WantedRow
    from shared.pipeline.entry_writes.writes import EarlyRemoval, GenerationWrites
    from shared.tables.accounts import Accounts
    from shared.tables.port import Operation


class EntryWriter:
    """Sends the writes of many facts together."""

    def __init__(self, accounts: Accounts, calls: AccountCalls) -> None:
        self._accounts = accounts
        self.calls = calls

    def new_buffer(self) -> TransactionBuffer:
        """A buffer without writes."""
        return TransactionBuffer(self._accounts, self.calls)

    async def add_known(self, buffer: TransactionBuffer, all_writes: Sequence[tuple[str, GenerationWrites]]) -> None:
        """Add the first wave to a buffer, which sends full transactions; without what must be looked at before."""
        await buffer.add(_entry_writes(buffer, _known(all_writes), {}))

    async def finish_known(self, buffer: TransactionBuffer, all_writes: Sequence[tuple[str, GenerationWrites]]) -> None:
        """The same with the last of the first wave: nothing is left in the buffer."""
        await buffer.finish(_entry_writes(buffer, _known(all_writes), {}))

    async def look(self, all_writes: Sequence[tuple[str, GenerationWrites]]) -> Looked:
        """The rows of all entry keys of which it is not known."""
        unknown = [(fact, writes) for fact, writes in all_writes if writes.must_list]
        rows = [row for rows in [*first_wave(unknown), *second_wave(unknown)] for row in rows]
        return await look(self._accounts, self.calls, rows) if rows else {}

    async def finish(
        self, buffer: TransactionBuffer, all_writes: Sequence[tuple[str, GenerationWrites]], looked: Looked
    ) -> None:
        """Send what is left of the first wave, with what was looked at."""
        wave = [rows for rows in first_wave(all_writes) if rows[0].must_list] if looked else ()
        await buffer.finish(_entry_writes(buffer, wave, looked))

    async def write_second(self, all_writes: Sequence[tuple[str, GenerationWrites]], looked: Looked) -> WriteFailures:
        """Write the second wave; return what failed."""
        return await self._write(second_wave(all_writes), looked)

    async def write(self, all_writes: Sequence[tuple[str, GenerationWrites]]) -> WriteFailures:
        """Write both waves; return what failed. After a failure of the first wave the second is not sent."""
        looked = await self.look(all_writes)
        failures = await self._write(first_wave(all_writes), looked)
        return failures or await self.write_second(all_writes, looked)

    async def write_early_removals(self, early_removals: Iterable[tuple[str, EarlyRemoval]]) -> WriteFailures:
        """Write tombstones of previous versions; return what failed."""
        return await self._write(early_tombstones(early_removals), {})

    async def _write(self, wave: Sequence[Together], looked: Looked) -> WriteFailures:
        buffer = self.new_buffer()
        await buffer.finish(_entry_writes(buffer, wave, looked))
        return buffer.failures


def _known(all_writes: Sequence[tuple[str, GenerationWrites]]) -> list[Together]:
    return [rows for rows in first_wave(all_writes) if not rows[0].must_list]


def _entry_writes(buffer: TransactionBuffer, wave: Iterable[Together], looked: Looked) -> list[EntryWrite]:
    """What to add to the buffer; it is told of what could not be looked at."""
    writes: list[EntryWrite] = []
    for rows in wave:
        first = rows[0]
        try:
            operations = tuple([operation for row in rows for operation in _operations(row, looked)])
        except _CouldNotLookError as could_not:
            buffer.failures[first.fact, first.place.account] = could_not.reason
            continue
        if operations:
            writes.append(EntryWrite(first.fact, first.place, operations))
    return writes


class _CouldNotLookError(Exception):
    def __init__(self, reason: Exception) -> None:
        self.reason = reason


def _operations(wanted: WantedRow, looked: Looked) -> tuple[Operation, ...]:
    if wanted.must_list:
        rows = looked[wanted.place, wanted.entry_key]
        if isinstance(rows, Exception):
            raise _CouldNotLookError(rows)
        return _missing_operations(wanted, rows)
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
