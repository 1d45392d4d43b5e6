"""A small reader of index tables, as lookups read them: page by page, with the rules that keep it right beside updates.

A row that is updated in place gets a smaller RowKey: a continuation of the service may skip it. So after a page with
rows the reader goes on with a new range after the last entry key it read. After an empty page it has to follow the
continuation, and then looks again at the range that the continuation passed over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from shared.entries.keys.index_keys import split_row_key
from shared.entries.rows.entry_row import is_tombstone
from shared.inputs.page_tokens import PageTokens
from shared.lookup.generations import DefinedGenerations
from shared.lookup.lookups import Lookups
from shared.lookup.reading.replicas import Replicas
from shared.tables.port import ROW_KEY, RowRange
from tests.simulation.programs import accounts
from tests.simulation.steps import ViolationError, interleaved

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.definitions.model import Definitions
    from shared.tables.port import Continuation, Row, Tables

# Inverted versions are hex digits, which all sort before it.
_AFTER_VERSIONS: Final = "g"


async def read_entry_keys(tables: Tables, table: str, partition: str, *, follows_tokens: bool = False) -> list[str]:
    """The entry keys with an entry, in order, one row per page."""
    if follows_tokens:
        return _live_entry_keys(await _follow(tables, table, RowRange(partition), None))
    found: list[Row] = []
    rows = RowRange(partition)
    while page := await _next_rows(tables, table, rows):
        found += page
        rows = RowRange(partition, _entry_key(page[-1]) + _AFTER_VERSIONS)
    return _live_entry_keys(found)


async def _next_rows(tables: Tables, table: str, rows: RowRange) -> list[Row]:
    """The next rows of the range; none at its end."""
    page = await tables.query(table, rows, limit=1)
    if page.rows or page.continuation is None:
        return list(page.rows)
    later = await _follow(tables, table, rows, page.continuation)
    passed_over = RowRange(rows.partition, rows.lower, _entry_key(later[0]) if later else rows.upper)
    return await _next_rows(tables, table, passed_over) or later[:1]


async def _follow(tables: Tables, table: str, rows: RowRange, continuation: Continuation | None) -> list[Row]:
    """All rows of the range, by the service's continuations."""
    found: list[Row] = []
    while True:
        page = await tables.query(table, rows, limit=1, continuation=continuation)
        found += page.rows
        continuation = page.continuation
        if continuation is None:
            return found


def _entry_key(row: Row) -> str:
    return split_row_key(cast(str, row.entity[ROW_KEY]))[0]


def _live_entry_keys(rows: list[Row]) -> list[str]:
    """The newest row of each entry key counts, and only if it is no tombstone."""
    newest: dict[str, Row] = {}
    for row in rows:
        newest.setdefault(_entry_key(row), row)
    return [entry_key for entry_key, row in newest.items() if not is_tombstone(row.entity)]


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads a partition beside the others. What was there before and stays must be read."""

    table: str
    partition: str
    steady: frozenset[str]
    follows_tokens: bool = False

    async def __call__(self) -> None:
        """Read to the end; raise `ViolationError` for what was missed."""
        found = await read_entry_keys(accounts().main, self.table, self.partition, follows_tokens=self.follows_tokens)
        if missed := self.steady - set(found):
            raise ViolationError(f"a reader missed {sorted(missed)}")

    def __str__(self) -> str:
        return "reader"


@dataclass(frozen=True, slots=True)
class MergedReader:
    """Looks several partitions up as callers do, in pages of one entry. What was there before and stays must be read,
    in order and once."""

    definitions: Definitions
    index: str
    parameters: Mapping[str, str]
    steady: tuple[str, ...]

    async def __call__(self) -> None:
        """Follow the pages to the end; raise `ViolationError` for what was missed, doubled or out of order."""
        generations = DefinedGenerations(self.definitions)
        tokens = PageTokens(b"key")
        lookups = Lookups(generations, Replicas(accounts().main), tokens, new_run_all=lambda: interleaved)
        found: list[str] = []
        asked: dict[str, str] | None = {**self.parameters, "maxpagesize": "1"}
        while asked is not None:
            page = await lookups.find(self.index, asked)
            found += [entry["id"] for entry in page.entries]
            asked = page.next_parameters
        if tuple(found) != self.steady:
            raise ViolationError(f"a reader of several partitions read {found} of {list(self.steady)}")

    def __str__(self) -> str:
        return "merged reader"
