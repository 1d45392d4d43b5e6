"""Entries as lookups give them: made from what a row stores, never from decoding its keys."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict, cast

from shared.definitions.answer_types import SchemaKeywords
from shared.entries.keys.fact_key import MISSING
from shared.entries.keys.index_keys import split_row_key
from shared.entries.rows.columns import read_columns
from shared.entries.rows.json_text import NotJsonError
from shared.tables.port import ROW_KEY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.definitions.model import Source
    from shared.entries.keys.fact_key import FactKeyValue
    from shared.entries.keys.index_keys import IndexKeys
    from shared.entries.projection.selection import Selection
    from shared.entries.rows.columns import Columns, StoredEntry
    from shared.lookup.plan import Plan
    from shared.lookup.read import NewestRow

_log = logging.getLogger(__name__)


class FoundEntry(TypedDict):
    """An entry as the API shows it. `partitionKey` is there when the source has one, `fact` when it was asked for."""

    id: str
    partitionKey: NotRequired[Any]
    version: Annotated[str, SchemaKeywords("When the entry last changed; later ones sort higher.")]
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


def is_asked_for(stored: StoredEntry, plan: Plan, keys: IndexKeys) -> bool:
    """Whether an entry was asked for, by its stored values: its keys may have been cut."""
    partition = [stored.key.get(codec.part.name) for codec in keys.partition_codecs]
    if plan.compares_partition and keys.whole_partition(partition) != plan.whole_partition:
        return False
    return plan.bounds.holds(keys.whole_sort([stored.key.get(codec.part.name) for codec in keys.sort_codecs]))


def shown_entry(read: ReadEntry, source: Source, select: Selection | None) -> FoundEntry:
    """The entry as the API shows it."""
    stored, version = read.stored, read.version
    data = stored.document if select is None else select(stored.document)
    entry: FoundEntry
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
