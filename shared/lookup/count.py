"""How many entries a lookup would find: reads keys only, a thousand rows at a time, and stops at a bound."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from shared.entries.rows.columns import EXPIRES
from shared.entries.rows.entry_row import GONE, is_expired, is_tombstone
from shared.errors import BadLookupError
from shared.inputs.faults import fault
from shared.lookup.reading.merge import Allowance, MergedRows
from shared.lookup.reading.page import hidden_row
from shared.lookup.reading.results import EntryReader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.definitions.model import Index
    from shared.lookup.lookups import Lookups
    from shared.lookup.reading.merge import MergedRow
    from shared.lookup.reading.page import HiddenRow
    from shared.lookup.requests import LookupRequest

ROWS_MAX: Final = 100_000
# What the service gives at once.
_CHUNK: Final = 1000
_COUNTS_AGAIN_MAX: Final = 3
_NOT_COUNTED: Final = ("maxpagesize", "select", "filter", "expand", "token")


@dataclass(frozen=True, slots=True)
class EntryCount:
    """How many entries there are; at least so many when it is not exact."""

    count: int
    is_exact: bool
    is_secondary: bool
    etag: str


@dataclass(frozen=True, slots=True)
class _Pass:
    """What one reading of all rows has counted."""

    count: int
    is_complete: bool
    is_secondary: bool
    rows_read: int
    hidden: list[HiddenRow]


async def count_entries(lookups: Lookups, index: str, parameters: Mapping[str, str]) -> EntryCount:
    """The number of entries that these conditions find.

    Of an index with tables per period, an entry may move from one table to another meanwhile: then it counts again,
    and in the end says that it is not exact.
    """
    _refuse_options((await lookups.generations.serving(index)).index, parameters)
    asked = await lookups.prepared(await lookups.requests.read(index, parameters))
    for _ in range(_COUNTS_AGAIN_MAX):
        began_at = lookups.tombstones.moment()
        counted = await _count(lookups, asked)
        is_certain = not lookups.tombstones.unknown_at(began_at, counted.hidden)
        if is_certain or not counted.is_complete:
            break
    lookups.note_answer(index, counted.rows_read, 0)
    is_exact = is_certain and counted.is_complete
    digest = sha256(repr((asked.generation.id, sorted(parameters.items()), counted.count, is_exact)).encode())
    return EntryCount(counted.count, is_exact, counted.is_secondary, f'"{digest.hexdigest()[:32]}"')


def _refuse_options(index: Index, parameters: Mapping[str, str]) -> None:
    parts = [part.name for part in index.parts]
    if given := [name for name in _NOT_COUNTED if name in parameters and name not in parts]:
        detail = 'A count reads keys alone: send conditions and, if needed, "sees".'
        raise BadLookupError(*(fault("UnknownParameter", name, f"count takes no {name}. {detail}") for name in given))


async def _count(lookups: Lookups, asked: LookupRequest) -> _Pass:
    plan, now_seconds = asked.plan, lookups.time_of(asked.generation)
    first = max(1, min(_CHUNK, ROWS_MAX // max(1, plan.reads)))
    # Stored values are compared where keys are cut; else the keys and what makes an entry count.
    columns = () if plan.compares_stored_values else (GONE, EXPIRES)
    rows = lookups.rows_of(asked, Allowance(first, 4, 2 * ROWS_MAX, 2 * ROWS_MAX * max(1, plan.reads)), columns)
    judge = EntryReader(asked.generation, plan)

    def counts(merged: MergedRow) -> bool:
        entity = merged.row.entity
        if is_tombstone(entity) or (now_seconds is not None and is_expired(entity, now_seconds)):
            return False
        return not plan.compares_stored_values or judge(merged.row) is not None

    count, hidden, last = 0, [], None
    while rows.rows_read < ROWS_MAX and (found := await rows.next_rows()):
        for merged in found:
            position = (merged.partition, merged.row.entry_key)
            if plan.starts and is_tombstone(merged.row.entity):
                hidden.append(hidden_row(merged))
            elif position != last and counts(merged):
                count += 1
                last = position
    if rows.has_more and isinstance(rows, MergedRows) and not plan.starts:
        count = min(ROWS_MAX, count + sum(map(counts, rows.rows_in_hand())))
    return _Pass(count, not rows.has_more, rows.is_secondary, rows.rows_read, hidden)
