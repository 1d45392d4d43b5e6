"""Projection: a change gives the entries that its fact has in one index. Pure; compiled once per index.

Keys come before columns: they are cheap, and they decide how many columns there will be.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shared.definitions.field_paths import segments
from shared.entries.changes.paths import EvaluationError
from shared.entries.projection.key_values import KeyValueReader, RefusedValueError, TooManyEntriesError
from shared.entries.projection.selection import compile_selection
from shared.entries.rows.columns import (
    ENTITY_BYTES_MAX,
    EXPIRES,
    KEY,
    REFERENCE,
    Columns,
    document_columns,
    entity_bytes,
    put_text,
)
from shared.entries.rows.json_text import NotJsonError, canonical_bytes, dumps
from shared.errors import UnprojectableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shared.definitions.model import Index, Source
    from shared.entries.changes.change import Change
    from shared.entries.projection.key_values import EntryKeyValues
    from shared.errors import FailureKind

# A row whose JSON has fewer bytes than this is surely below 1 MiB in UTF-16, names and overheads included.
_SURELY_FITS_BYTES: Final = 400_000
DIGEST_DIGITS: Final = 16
HOW_TO_FIX: Final = "Correct the fact or the definition, then replay the dead letter."
_KINDS: Final[dict[type[Exception], FailureKind]] = {
    EvaluationError: "notEvaluable",
    NotJsonError: "notJson",
    RefusedValueError: "wrongType",
    TooManyEntriesError: "tooManyEntries",
}


class Entry(NamedTuple):
    """One row a fact has in an index, but for the version that completes its RowKey.

    A named tuple, as there is one per row written: it is made in less than half a frozen dataclass's time.
    """

    partition_key: str
    entry_key: str
    columns: Columns
    digest: str

    @property
    def is_reference(self) -> bool:
        """True when the projection did not fit and the entry only refers to the fact."""
        return REFERENCE in self.columns


class Projector:
    """Projects changes of a source into one index."""

    def __init__(self, index: Index, source: Source) -> None:
        self._index = index
        self._can_refer = source.cosmos is not None
        self._keys = KeyValueReader(index)
        self._select = compile_selection(index)
        self._selects_element = _selects_element(index)

    def project(self, change: Change) -> tuple[Entry, ...]:
        """The entries of the fact in this index; raises `UnprojectableError` when it does not fit."""
        document = change.document
        if document is None:
            return ()
        try:
            keys = self._keys.keys(document)
            if self._selects_element:
                return tuple(self._element_entries(change, document, keys))
            columns = document_columns(self._select(document)) if keys else {}
            return tuple([self._entry(change, key, columns) for key in keys])
        except (EvaluationError, NotJsonError, RefusedValueError, TooManyEntriesError) as error:
            raise self._unprojectable(change, _KINDS[type(error)], str(error)) from error

    def _element_entries(
        self, change: Change, document: dict[str, Any], keys: Sequence[EntryKeyValues]
    ) -> Iterator[Entry]:
        assert self._index.each is not None
        with_element = dict(document)
        for key in keys:
            with_element[self._index.each.name] = key.element
            yield self._entry(change, key, document_columns(self._select(with_element)))

    def _entry(self, change: Change, key: EntryKeyValues, projected: Columns) -> Entry:
        columns = {**change.columns, **projected}
        if key.expires_seconds is not None:
            columns[EXPIRES] = key.expires_seconds
        put_text(columns, KEY, dumps(key.values))
        raw = canonical_bytes(columns)
        if len(raw) > _SURELY_FITS_BYTES and entity_bytes(columns) > ENTITY_BYTES_MAX:
            columns = self._reference(change, key)
            raw = canonical_bytes(columns)
        return Entry(
            self._keys.shards.partition_key(key.partition, change.fact_hash, key.expires_seconds),
            key.sort + change.fact_key,
            columns,
            sha256(raw).hexdigest()[:DIGEST_DIGITS],
        )

    def _reference(self, change: Change, key: EntryKeyValues) -> Columns:
        """The columns of an entry whose projection is over 1 MiB."""
        columns: Columns = {**change.columns, REFERENCE: True}
        if key.expires_seconds is not None:
            columns[EXPIRES] = key.expires_seconds
        put_text(columns, KEY, dumps(key.values))
        if not self._can_refer:
            raise self._unprojectable(
                change, "tooLarge", "what it projects is over 1 MiB, and the source has no container"
            )
        if entity_bytes(columns) > ENTITY_BYTES_MAX:
            raise self._unprojectable(change, "tooLarge", "the values of its key are over 1 MiB")
        return columns

    def _unprojectable(self, change: Change, kind: FailureKind, reason: str) -> UnprojectableError:
        return UnprojectableError(
            f'Index "{self._index.name}" cannot hold a fact of source "{change.source}": {reason}. {HOW_TO_FIX}',
            kind,
        )


def _selects_element(index: Index) -> bool:
    """Whether `project` takes something of the element: entries of one fact then differ in their columns."""
    if index.each is None or isinstance(index.project, str):
        return False
    return any((segments(path) or ("",))[0] == index.each.name for path in index.project)
