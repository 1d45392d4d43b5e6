"""Entries as lookups give them: made from what a row stores, never from decoding its keys."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict, cast

import orjson

from shared.definitions.answer_types import SchemaKeywords
from shared.entries.keys.fact_key import MISSING
from shared.entries.keys.index_keys import split_row_key
from shared.entries.rows.columns import StoredEntry, read_columns
from shared.entries.rows.json_text import NotJsonError, loads
from shared.entries.summaries.rows import read_total
from shared.tables.port import ROW_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shared.definitions.model import Source
    from shared.entries.keys.fact_key import FactKeyValue
    from shared.entries.keys.index_keys import IndexKeys
    from shared.entries.projection.selection import Selection
    from shared.entries.rows.columns import Columns
    from shared.entries.summaries.totals import SummaryLayout
    from shared.lookup.asking.filters import EntryFilter
    from shared.lookup.asking.plan import Plan
    from shared.lookup.generations import ReadableGeneration
    from shared.lookup.reading.stretches import NewestRow

_log = logging.getLogger(__name__)


class FoundEntry(TypedDict):
    """An entry as the API shows it. `partitionKey` is there when the source has one, `fact` when it was asked for.

    A group of a summary has `key` and `data` alone.
    """

    id: NotRequired[str]
    partitionKey: NotRequired[Any]
    version: NotRequired[Annotated[str, SchemaKeywords("When the entry last changed; later ones sort higher.")]]
    key: dict[str, Any]
    data: dict[str, Any]
    isReference: NotRequired[Annotated[Literal[True], SchemaKeywords("The projection did not fit; fetch the fact.")]]
    fact: NotRequired[dict[str, Any]]


class ReadEntry(NamedTuple):
    """A current row of an index table, with what it stores and the version in its key."""

    row: NewestRow
    stored: StoredEntry
    version: str


def read_entry(row: NewestRow, table: str) -> ReadEntry | None:
    """The entry that a row stores; None, and a line in the log, for a row that is not ours."""
    try:
        stored = read_columns(cast("Columns", row.entity))
    except (NotJsonError, ValueError):
        _log.warning("A row of an index table cannot be read and is passed over", extra={"table": table})
        return None
    _, version = split_row_key(str(row.entity[ROW_KEY]))
    return ReadEntry(row, stored, version)


def read_group(row: NewestRow, table: str, layout: SummaryLayout) -> ReadEntry | None:
    """The group that a row of totals stores; None for one without facts, and, with a line in the log, for a row that is
    not ours."""
    try:
        total, key = read_total(row.entity, layout)
        values = loads(key)
    except (NotJsonError, ValueError):
        _log.warning("A row of an index table cannot be read and is passed over", extra={"table": table})
        return None
    if total.facts <= 0:
        return None
    return ReadEntry(row, StoredEntry("", (), values, dict(layout.shown(total)), is_reference=False), "")


class ShownEntry(NamedTuple):
    """A current row that was asked for, and the entry as the API shows it, with its size in an answer."""

    read: ReadEntry
    entry: FoundEntry
    size: int


@dataclass(frozen=True, slots=True)
class EntryReader:
    """Judges the rows of one lookup: what each stores, whether that was asked for, and how it is shown."""

    generation: ReadableGeneration
    plan: Plan
    select: Selection | None = None
    holds: EntryFilter | None = None

    def __call__(self, row: NewestRow) -> ShownEntry | None:
        """The entry as it is shown, or None for what was not asked for and for rows that are not ours."""
        read = self._read(row)
        if read is None:
            return None
        stored = read.stored
        if self.plan.compares_stored_values and not is_asked_for(stored, self.plan, self.generation.keys):
            return None
        if self.holds is not None and not self.holds(stored):
            return None
        entry = shown_entry(read, self.generation.source, self.select)
        return ShownEntry(read, entry, answer_size(entry))

    def _read(self, row: NewestRow) -> ReadEntry | None:
        table, layout = self.generation.table, self.generation.layout
        return read_entry(row, table) if layout is None else read_group(row, table, layout)


def answer_size(entry: Mapping[str, Any]) -> int:
    """How many bytes an entry or a fact takes in an answer."""
    try:
        return len(orjson.dumps(entry))
    except TypeError:  # integers over 64 bits, and documents nested deeper than orjson goes
        return len(json.dumps(entry))


def is_asked_for(stored: StoredEntry, plan: Plan, keys: IndexKeys) -> bool:
    """Whether an entry was asked for, by its stored values: its keys may have been cut."""
    if plan.compares_partition:
        partition = keys.whole_partition([stored.key.get(codec.part.name) for codec in keys.partition_codecs])
        if partition not in plan.partitions:
            return False
    sort = keys.whole_sort([stored.key.get(codec.part.name) for codec in keys.sort_codecs])
    return any(bounds.holds(sort) for bounds in plan.bounds)


def shown_entry(read: ReadEntry, source: Source, select: Selection | None) -> FoundEntry:
    """The entry as the API shows it."""
    stored, version = read.stored, read.version
    data = stored.document if select is None else select(stored.document)
    entry: FoundEntry
    if not version:  # a group
        return {"key": stored.key, "data": data}
    if source.partition_key:
        partition_key = shown_partition_key(stored.partition_key)
        entry = {"id": stored.id, "partitionKey": partition_key, "version": version, "key": stored.key, "data": data}
    else:
        entry = {"id": stored.id, "version": version, "key": stored.key, "data": data}
    if stored.is_reference:
        entry["isReference"] = True
    return entry


def shown_partition_key(values: Sequence[FactKeyValue]) -> Any:
    """One value as itself, several as a list; a missing one as `{}`, which is how Cosmos DB writes it."""
    shown: list[Any] = [{} if value is MISSING else value for value in values]
    return shown[0] if len(shown) == 1 else shown
