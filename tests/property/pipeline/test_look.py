"""Listing the rows of many entry keys by ranges finds what listing each of them finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from hypothesis import given
from hypothesis import strategies as st

from shared.entries.projection.generations import Place
from shared.entries.rows.entry_row import live_row, tombstone_row
from shared.pipeline.account_calls import calls_by
from shared.pipeline.concurrency import AtOnce
from shared.pipeline.entry_writes.look import look
from shared.pipeline.entry_writes.stored_rows import list_rows_of
from shared.pipeline.entry_writes.waves import WantedRow
from shared.tables.accounts import Accounts
from shared.tables.memory.memory_tables import MemoryTables
from shared.tables.port import Upsert

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.pipeline.concurrency import Work

T = TypeVar("T")
PLACE = Place("", "index", "A !")
VERSIONS = [digit * 35 + "0" * 9 for digit in "1234"]
# Keys that begin with one another, and characters that UTF-16 orders otherwise than code points.
ENTRY_KEYS = st.text("ag!~\uffee\U0001f600", min_size=1, max_size=3).map(lambda text: f"{text} !")
ROWS = st.dictionaries(st.tuples(ENTRY_KEYS, st.sampled_from(VERSIONS)), st.booleans(), max_size=30)


class Counted(AtOnce):
    """Counts the calls."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self, work: Sequence[Work[T]]) -> list[T | Exception]:
        self.calls += len(work)
        return await super().__call__(work)


def wanted(key: str) -> WantedRow:
    """A row of which it is not known what the partition has."""
    row = Upsert(live_row(PLACE.partition, key, VERSIONS[0], {}))
    return WantedRow("f", PLACE, key, VERSIONS[0], row, is_tombstone=False, replaced_row=None, must_list=True)


@given(stored=ROWS, others=st.sets(ENTRY_KEYS, max_size=5), page_rows=st.integers(1, 7), settled_min=st.integers(1, 3))
async def test_ranges_find_what_single_queries_find(
    stored: dict[tuple[str, str], bool], others: set[str], page_rows: int, settled_min: int
) -> None:
    """Also where they leave some out, which are listed singly."""
    tables = MemoryTables()
    await tables.create_table(PLACE.table)
    for (entry_key, version), is_live in stored.items():
        row = live_row(PLACE.partition, entry_key, version, {}) if is_live else None
        await tables.transact(PLACE.table, [Upsert(row or tombstone_row(PLACE.partition, entry_key, version))])
    keys = {entry_key for entry_key, _ in stored} | others
    counted = Counted()
    rows = [wanted(key) for key in keys]
    found = await look(Accounts({"": tables}), calls_by(counted), rows, page_rows, settled_min)
    assert found == {(PLACE, key): await list_rows_of(tables, PLACE.table, PLACE.partition, key) for key in keys}
    if page_rows > len(stored) and len(keys) >= settled_min:
        assert counted.calls == 1
