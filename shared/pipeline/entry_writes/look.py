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
# So many pages of a place are waited for one after the other; then what is left is asked for all at once.
ROUNDS_MAX: Final = 5


async def look(
    accounts: Accounts,
    calls: AccountCalls,
    wanted: Iterable[WantedRow],
    page_rows: int = PAGE_ROWS_MAX,
    settled_min: int = _SETTLED_MIN,
) -> Looked:
    """The rows of the entry keys of all wanted rows. Every page is a call of its own: an account that answers page
    after page is not silent."""
    left: dict[Place, set[str]] = {}
    for row in wanted:
        left.setdefault(row.place, set()).add(row.entry_key)
    looked: Looked = {}
    many = [place for place, keys in left.items() if len(keys) >= settled_min]
    for _ in range(ROUNDS_MAX):
        if not many:
            break
        pages = [
            (place.account, partial(_list_page, accounts.tables(place.account), place, left[place], page_rows))
            for place in many
        ]
        settled: dict[Place, int] = {}
        for place, page in zip(many, await calls(pages), strict=True):
            found = dict.fromkeys(left[place], page) if isinstance(page, Exception) else page
            looked.update({(place, key): rows for key, rows in found.items()})
            left[place] = left[place] - found.keys()
            settled[place] = len(found)
        many = [place for place in many if left[place] and settled[place] >= settled_min]
    rest = [(place, key) for place, keys in left.items() for key in keys]
    singly = [
        (place.account, partial(list_rows_of, accounts.tables(place.account), place.table, place.partition, key))
        for place, key in rest
    ]
    looked.update(zip(rest, await calls(singly) if singly else [], strict=True))
    return looked


async def _list_page(
    tables: Tables, place: Place, keys: Iterable[str], page_rows: int
) -> Mapping[str, list[StoredRow]]:
    """The rows of these entry keys as far as one page of the range around them goes; the others are missing."""
    asked = sorted(keys, key=utf16_order)
    upper = max([key + AFTER_VERSIONS for key in asked], key=utf16_order)
    rows, last = await list_rows_between(tables, place, asked[0], upper, page_rows)
    found: dict[str, list[StoredRow]] = {key: [] for key in _settled(asked, last)}
    for key, row in rows:
        if key in found:
            found[key].append(row)
    return found


def _settled(keys: Sequence[str], last: str | None) -> Sequence[str]:
    """The keys all of whose rows come before this RowKey, the last one of a page that was cut; None: no page was."""
    if last is None:
        return keys
    end = utf16_order(last)
    return [key for key in keys if utf16_order(key + AFTER_VERSIONS) <= end]
