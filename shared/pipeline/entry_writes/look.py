"""Finds out which rows entry keys have, where that is not known: many of one partition by ranges, a few one by one.

A batch that comes again would otherwise cost a query for each entry of each fact.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from shared.definitions.utf16 import utf16_order
from shared.pipeline.entry_writes.stored_rows import AFTER_VERSIONS, list_rows_between, list_rows_of
from shared.tables.limits import PAGE_ROWS_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shared.entries.projection.generations import Place
    from shared.pipeline.account_calls import AccountCalls
    from shared.pipeline.entry_writes.stored_rows import StoredRow
    from shared.pipeline.entry_writes.waves import WantedRow
    from shared.tables.accounts import Accounts
    from shared.tables.port import Tables

# By place and entry key: the rows, or why they could not be listed.
Looked: TypeAlias = "dict[tuple[Place, str], list[StoredRow] | Exception]"

# A page that settles fewer entry keys costs more in bytes than single queries cost in requests.
_SETTLED_MIN: Final = 10


async def look(accounts: Accounts, calls: AccountCalls, wanted: Iterable[WantedRow]) -> Looked:
    """The rows of the entry keys of all wanted rows."""
    keys: dict[Place, set[str]] = {}
    for row in wanted:
        keys.setdefault(row.place, set()).add(row.entry_key)
    looked: Looked = {}
    many = [place for place, of_place in keys.items() if len(of_place) >= _SETTLED_MIN]
    work = [(place.account, partial(list_many, accounts.tables(place.account), place, keys[place])) for place in many]
    for place, found in zip(many, await calls(work) if work else [], strict=True):
        if isinstance(found, Exception):
            looked.update({(place, key): found for key in keys[place]})
        else:
            looked.update({(place, key): rows for key, rows in found.items()})
    rest = [(place, key) for place, of_place in keys.items() for key in of_place if (place, key) not in looked]
    singly = [
        (place.account, partial(list_rows_of, accounts.tables(place.account), place.table, place.partition, key))
        for place, key in rest
    ]
    looked.update(zip(rest, await calls(singly) if singly else [], strict=True))
    return looked


async def list_many(
    tables: Tables, place: Place, keys: Iterable[str], page_rows: int = PAGE_ROWS_MAX, settled_min: int = _SETTLED_MIN
) -> Mapping[str, list[StoredRow]]:
    """The rows of these entry keys, as far as ranges find them cheaply; the others are missing."""
    left = sorted(keys, key=utf16_order)
    found: dict[str, list[StoredRow]] = {}
    while left:
        upper = max([key + AFTER_VERSIONS for key in left], key=utf16_order)
        rows, last = await list_rows_between(tables, place, left[0], upper, page_rows)
        settled = set(_settled(left, last))
        for key in settled:
            found[key] = []
        for key, row in rows:
            if key in settled:
                found[key].append(row)
        if len(settled) < min(settled_min, len(left)):
            return found
        left = [key for key in left if key not in settled]
    return found


def _settled(keys: Sequence[str], last: str | None) -> Sequence[str]:
    """The keys all of whose rows come before this RowKey, the last one of a page that was cut; None: no page was."""
    if last is None:
        return keys
    end = utf16_order(last)
    return [key for key in keys if utf16_order(key + AFTER_VERSIONS) <= end]
