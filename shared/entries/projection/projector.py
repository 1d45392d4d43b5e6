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
# All entries of a fact in one index, as a large document with many entries is written as often as it has entries. More
# when their columns are made once and not for every element.
ELEMENT_ENTRIES_MIB_MAX: Final = 32
ENTRIES_MIB_MAX: Final = 128
MIB: Final = 1024 * 1024
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
        # The name by which `project` takes something of the element: entries of one fact then differ in their columns.
        self._element = index.each.name if index.each is not None and _selects(index, index.each.name) else None

    def project(self, change: Change) -> tuple[Entry, ...]:
        """The entries of the fact in this index; raises `UnprojectableError` when it does not fit."""
        document = change.document
        if document is None:
            return ()
        try:
            keys = self._keys.keys(document)
            return tuple(self._entries(change, document, keys)) if keys else ()
        except (EvaluationError, NotJsonError, RefusedValueError, TooManyEntriesError) as error:
            raise unprojectable(error) from error

    def _entries(self, change: Change, document: dict[str, Any], keys: Sequence[EntryKeyValues]) -> Iterator[Entry]:
        """The entry of each key, as long as they have not too many bytes together."""
        mib_max = ENTRIES_MIB_MAX if self._element is None else ELEMENT_ENTRIES_MIB_MAX
        left = mib_max * MIB
        for key, projected in self._projected(document, keys):
            entry, entry_bytes = self._entry(change, key, projected)
            left -= entry_bytes
            if left < 0:
                raise too_large(f"its {len(keys)} entries are over {mib_max} MiB together")
            yield entry

    def _projected(
        self, document: dict[str, Any], keys: Sequence[EntryKeyValues]
    ) -> Iterator[tuple[EntryKeyValues, Columns | None]]:
        """Each key with what is projected for it; None when that is over 1 MiB. What every entry has is made once."""
        of_fact = document
        if self._element is not None:
            # Copied once, and not for every element.
            of_fact = {name: value for name, value in document.items() if name != self._element}
        of_all = document_columns(self._select(of_fact))
        is_too_large = len(keys) > 1 and entity_bytes(of_all) > ENTITY_BYTES_MAX
        for key in keys:
            if is_too_large:
                yield key, None
            elif self._element is None:
                yield key, of_all
            else:
                of_fact[self._element] = key.element
                yield key, document_columns(self._select(of_fact))

    def _entry(self, change: Change, key: EntryKeyValues, projected: Columns | None) -> tuple[Entry, int]:
        """The entry, and how many bytes it has."""
        columns, raw = self._reference(change, key) if projected is None else self._whole(change, key, projected)
        entry = Entry(
            self._keys.shards.partition_key(key.partition, change.fact_hash, key.expires_seconds),
            key.sort + change.fact_key,
            columns,
            sha256(raw).hexdigest()[:DIGEST_DIGITS],
        )
        return entry, len(raw)

    def _whole(self, change: Change, key: EntryKeyValues, projected: Columns) -> tuple[Columns, bytes]:
        """The columns of an entry, and the bytes of which the digest is made."""
        columns = {**change.columns, **projected}
        if key.expires_seconds is not None:
            columns[EXPIRES] = key.expires_seconds
        put_text(columns, KEY, dumps(key.values))
        raw = canonical_bytes(columns)
        if len(raw) > _SURELY_FITS_BYTES and entity_bytes(columns) > ENTITY_BYTES_MAX:
            return self._reference(change, key)
        return columns, raw

    def _reference(self, change: Change, key: EntryKeyValues) -> tuple[Columns, bytes]:
        """The same of an entry whose projection is over 1 MiB."""
        columns: Columns = {**change.columns, REFERENCE: True}
        if key.expires_seconds is not None:
            columns[EXPIRES] = key.expires_seconds
        put_text(columns, KEY, dumps(key.values))
        if not self._can_refer:
            raise too_large("what it projects is over 1 MiB, and the source has no container")
        if entity_bytes(columns) > ENTITY_BYTES_MAX:
            raise too_large("the values of its key are over 1 MiB")
        return columns, canonical_bytes(columns)


def why_not(reason: str) -> str:
    """Why an index cannot hold a fact, as a sentence, and what to do. A dead letter names the index and the fact."""
    return f"{reason[0].upper()}{reason[1:]}. {HOW_TO_FIX}"


def unprojectable(error: Exception) -> UnprojectableError:
    """The error for a fact whose projection raised this one."""
    return UnprojectableError(why_not(str(error)), _KINDS[type(error)])


def too_large(reason: str) -> UnprojectableError:
    """The error for a fact whose rows are over a limit."""
    return UnprojectableError(why_not(reason), "tooLarge")


def _selects(index: Index, name: str) -> bool:
    """Whether `project` names this field, or one below it."""
    if isinstance(index.project, str):
        return False
    return any((segments(path) or ("",))[0] == name for path in index.project)
