"""A change in normal form: one version of one fact, whatever it arrived as.

`FactReader` reads from a fact which one it is, how old it is and whether it is deleted. `cosmos_changes` makes changes
from the documents of a change feed, `event_changes` from the messages of an event hub.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from shared.definitions.field_paths import segments
from shared.entries.changes.paths import EvaluationError, compile_condition, compile_path
from shared.entries.changes.shown_values import value_in_message
from shared.entries.keys.fact_key import MISSING, encode_fact_key, fact_hash, is_encodable, is_fact_key_value
from shared.entries.keys.versions import NO_DOCUMENT, declared_clock, version
from shared.entries.rows.columns import fact_columns
from shared.entries.rows.json_text import canonical_bytes
from shared.errors import UnknownFormError, UnreadableChangeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shared.definitions.model import Source
    from shared.entries.keys.fact_key import FactKeyValue
    from shared.entries.rows.columns import Columns

# What Cosmos DB adds to a document. It differs between two reads of one version, so it is no part of the
# fact.
SYSTEM_PROPERTIES: Final = frozenset({"_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"})


@dataclass(frozen=True, slots=True)
class Change:
    """One version of one fact. A delete has no document."""

    source: str
    id: str
    partition_key: tuple[FactKeyValue, ...]
    fact_key: str
    fact_hash: int
    version: str
    document: dict[str, Any] | None
    # Here because every index needs them, and making them once is cheaper.
    columns: Columns
    source_etag: str | None = None
    # The fact is gone as of this version.
    is_delete: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_delete", self.document is None)


def own_properties(document: dict[str, Any]) -> dict[str, Any]:
    """A document without what Cosmos DB added to it."""
    own = document.copy()
    for name in SYSTEM_PROPERTIES:
        own.pop(name, None)
    return own


class FactReader:
    """Reads identity, version and deletion of a source's facts; compiled once per source."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._id = compile_path(source.id)
        self._partition_key = [compile_key_path(path) for path in source.partition_key]
        self._version = compile_path(source.version) if source.version else None
        self._is_deleted = compile_condition(source.deleted_when) if source.deleted_when else None

    def unreadable(self, reason: str) -> UnreadableChangeError:
        """The error for a change of this source that cannot be read."""
        return UnreadableChangeError(self._says(reason))

    def unknown_form(self, reason: str) -> UnknownFormError:
        """The error for an event in another form than this source expects."""
        return UnknownFormError(self._says(reason))

    def _says(self, reason: str) -> str:
        return f'A change of source "{self.source.name}" cannot be read: {reason}.'

    def id_of(self, document: dict[str, Any]) -> object:
        """What stands where the fact's id should be; None for nothing."""
        return self.evaluate(self._id, document, "id")

    def partition_key_of(self, document: dict[str, Any]) -> tuple[Any, ...]:
        """What stands where the partition key values should be; MISSING for nothing."""
        return tuple(self.evaluate(get, document, "partitionKey") for get in self._partition_key)

    def declared_version_of(self, document: dict[str, Any]) -> object:
        """What stands where the declared version should be; None for nothing, or when none is declared."""
        return None if self._version is None else self.evaluate(self._version, document, "version")

    def is_deleted(self, document: dict[str, Any]) -> bool:
        """Whether the document says that the fact is deleted."""
        return self._is_deleted is not None and self.evaluate(self._is_deleted, document, "deletes.when")

    def declared_clock(self, value: object) -> str:
        """The clock of a declared version."""
        clock = declared_clock(value)
        if clock is None:
            where = f'{value_in_message(value)} at "{self.source.version}"'
            raise self.unreadable(f"{where} is not a version: send a number from 0 up or an ISO 8601 time")
        return clock

    def change(
        self,
        fact_id: object,
        partition_key: Sequence[object],
        clock: str,
        document: dict[str, Any] | None,
        source_etag: str | None = None,
    ) -> Change:
        """The change, from parts that may still turn out wrong. A document that says so is a delete."""
        identity = self._checked_id(fact_id)
        key = tuple(map(self._checked_key_value, partition_key))
        is_delete = document is None or self.is_deleted(document)
        digest = NO_DOCUMENT if document is None else self._digest(document)
        fact_key = encode_fact_key(key, identity)
        return Change(
            source=self.source.name,
            id=identity,
            partition_key=key,
            fact_key=fact_key,
            fact_hash=fact_hash(fact_key),
            version=version(clock, digest, is_delete=is_delete),
            document=None if is_delete else document,
            columns=fact_columns(identity, key),
            source_etag=source_etag,
        )

    def evaluate(self, get: Callable[[Any], Any], document: dict[str, Any], key: str) -> Any:
        """What an expression gives; `key` is where the definitions have it."""
        try:
            return get(document)
        except EvaluationError as error:
            raise self.unreadable(f'"{key}" cannot be evaluated: {error}') from error

    def _digest(self, document: dict[str, Any]) -> str:
        try:
            raw = canonical_bytes(own_properties(document))
        except (RecursionError, ValueError, TypeError) as error:
            raise self.unreadable(f"the document is not JSON that can be written ({error})") from error
        return sha256(raw).hexdigest()[: len(NO_DOCUMENT)]

    def _checked_id(self, value: object) -> str:
        if type(value) is int:
            return str(value)
        if isinstance(value, str) and value and is_encodable(value):
            return value
        raise self.unreadable(
            f'{value_in_message(value)} at "{self.source.id}" is not an id: send a text or a whole number'
        )

    def _checked_key_value(self, value: object) -> Any:
        if is_fact_key_value(value):
            return value
        raise self.unreadable(
            f"{value_in_message(value)} is not a partition key value: send text, a number, a boolean or null"
        )


def compile_key_path(path: str) -> Callable[[Any], Any]:
    """As a path, but a field that is not there is MISSING: Cosmos DB tells it from null."""
    names = segments(path)
    if names is None:
        return compile_path(path)

    def get(value: Any) -> Any:
        for name in names:
            if not isinstance(value, dict) or name not in value:
                return MISSING
            value = value[name]
        return value

    return get
