"""The two waves of entry writes: first every live row, then, when they are acknowledged, the removals.

A reader may thus see a fact twice for a moment, never not at all. Per pair there is one newest row that ought to be
there, live or tombstone; older ones are deleted with it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from shared.entries.keys.index_keys import row_key
from shared.entries.rows.entry_row import live_row, tombstone_row
from shared.pipeline.entry_writes.stored_rows import list_pair
from shared.pipeline.entry_writes.transaction_buffer import Gathered, PairWrite
from shared.tables.accounts import place_of
from shared.tables.port import Delete, Upsert

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shared.pipeline.apply.decide import LiveWrite, PartWrites, Removal, Trim
    from shared.pipeline.concurrency import RunAll
    from shared.pipeline.entry_writes.stored_rows import PairRow
    from shared.tables.accounts import Accounts, Place
    from shared.tables.port import Operation


class Wanted(NamedTuple):
    """The newest row that a pair of a fact should have, and the row that it replaces."""

    fact: str
    place: Place
    pair: str
    at: str
    row: Upsert
    is_tombstone: bool
    replaces: str | None


class Waves:
    """Sends the writes of many facts together."""

    def __init__(self, accounts: Accounts, run_all: RunAll) -> None:
        self._accounts = accounts
        self._run_all = run_all

    def new_wave(self) -> Gathered:
        """Nothing written yet."""
        return Gathered(self._accounts, self._run_all)

    async def write_live(self, parts: Iterable[tuple[str, PartWrites]]) -> dict[str, Exception]:
        """The first wave; the facts that failed."""
        wave = self.new_wave()
        await self.add_live(wave, parts)
        return await self._finished(wave)

    async def add_live(self, wave: Gathered, parts: Iterable[tuple[str, PartWrites]]) -> None:
        """More of the first wave: what fills a transaction is sent."""
        known: list[Wanted] = []
        unknown: list[Wanted] = []
        for fact, part in parts:
            wanted = [_live(fact, part, write) for write in part.live]
            (unknown if part.must_list else known).extend(wanted)
        await self._add(wave, known, unknown)

    async def write_removals(self, parts: Iterable[tuple[str, PartWrites]]) -> dict[str, Exception]:
        """The second wave; the facts that failed."""
        known: list[Wanted] = []
        unknown: list[Wanted] = []
        for fact, part in parts:
            wanted = [_tombstone(fact, part, left) for left in part.left]
            (unknown if part.must_list else known).extend(wanted)
        return await self._write(known, unknown)

    async def write_trims(self, trims: Iterable[tuple[str, Trim]]) -> dict[str, Exception]:
        """Tombstones of previous versions. The rows they hide are most likely gone; if not, the sweep finds them."""
        wanted = [_tombstone(fact, trim, left) for fact, trim in trims for left in trim.left]
        return await self._write(wanted, [])

    async def _write(self, known: Sequence[Wanted], unknown: Sequence[Wanted]) -> dict[str, Exception]:
        wave = self.new_wave()
        await self._add(wave, known, unknown)
        return await self._finished(wave)

    async def _finished(self, wave: Gathered) -> dict[str, Exception]:
        await wave.finish()
        return wave.failures

    async def _add(self, wave: Gathered, known: Sequence[Wanted], unknown: Sequence[Wanted]) -> None:
        writes = [PairWrite(wanted.fact, wanted.place, _operations(wanted)) for wanted in known]
        listings = await self._run_all([partial(self._list, wanted) for wanted in unknown]) if unknown else []
        for wanted, rows in zip(unknown, listings, strict=True):
            if isinstance(rows, Exception):
                wave.failures[wanted.fact] = rows
            elif operations := _missing_operations(wanted, rows):
                writes.append(PairWrite(wanted.fact, wanted.place, operations))
        await wave.add(writes)

    async def _list(self, wanted: Wanted) -> list[PairRow]:
        place = wanted.place
        return await list_pair(self._accounts.tables(place.account), place.table, place.partition, wanted.pair)


def _live(fact: str, part: PartWrites, write: LiveWrite) -> Wanted:
    row = Upsert(live_row(write.partition, write.pair, write.at, write.columns))
    place = place_of(part.generation, write.partition)
    return Wanted(fact, place, write.pair, write.at, row, is_tombstone=False, replaces=write.replaces)


def _tombstone(fact: str, part: PartWrites | Trim, left: Removal) -> Wanted:
    row = Upsert(tombstone_row(left.partition, left.pair, part.version))
    place = place_of(part.generation, left.partition)
    return Wanted(fact, place, left.pair, part.version, row, is_tombstone=True, replaces=left.replaces)


def _operations(wanted: Wanted) -> tuple[Operation, ...]:
    if wanted.replaces is None or wanted.replaces == wanted.at:
        return (wanted.row,)
    return (wanted.row, Delete(wanted.place.partition, row_key(wanted.pair, wanted.replaces)))


def _missing_operations(wanted: Wanted, rows: Sequence[PairRow]) -> tuple[Operation, ...]:
    """What makes a listed pair right: the wanted row unless it or a newer one is there, without the older ones."""
    is_there = any(row.at > wanted.at or _is_wanted(row, wanted) for row in rows)
    older = [Delete(wanted.place.partition, row.row_key) for row in rows if row.at < wanted.at]
    # The oldest first, should they take more than one transaction: no newer row goes before an older one.
    return (*(() if is_there else (wanted.row,)), *reversed(older))


def _is_wanted(row: PairRow, wanted: Wanted) -> bool:
    return row.at == wanted.at and row.is_tombstone == wanted.is_tombstone
