"""Changes from a Cosmos DB change feed: latest version documents, or all versions and deletes items.

The items of one transaction have one `_lsn` and one second: between two of the same fact the clock does not decide,
only their order in the feed does. The feed never divides a transaction over pages, so a worker that gets one of its
items gets all of them, in this order. `last_of_each_transaction` keeps what the transaction left behind, which is also
all that the latest version feed shows of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shared.definitions.field_paths import segments
from shared.entries.changes.change import FactReader
from shared.entries.changes.shown_values import value_in_message
from shared.entries.keys.fact_key import MISSING
from shared.entries.keys.versions import lsn_of, ticks_clock

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.definitions.model import Source
    from shared.entries.changes.change import Change


class CosmosReader:
    """Reads the changes of one source with `cosmos`."""

    def __init__(self, source: Source) -> None:
        self._reader = FactReader(source)
        self._has_declared_version = source.version is not None
        self._key_names = [segments(path) or (path,) for path in source.partition_key]

    def latest(self, document: object) -> Change:
        """The change that a document of the latest version feed (or of a query of that feed) is."""
        if not isinstance(document, dict):
            raise self._reader.unreadable(f"{value_in_message(document)} is not a document")
        return self._upsert(document, document.get("_ts"), document.get("_lsn"))

    def all_versions(self, item: object) -> Change:
        """The change that an item of the all versions and deletes feed is."""
        if not isinstance(item, dict) or not isinstance(item.get("metadata"), dict):
            raise self._reader.unreadable('it is not an item of an all versions feed: it has no "metadata"')
        metadata, current = item["metadata"], item.get("current")
        is_delete = str(metadata.get("operationType")).lower() == "delete"
        if is_delete:
            clock = self._clock(metadata.get("crts"), metadata.get("lsn"))
            return self._reader.change(metadata.get("id"), self._key_in(metadata), clock, None)
        if not isinstance(current, dict) or not current:
            raise self._reader.unreadable('it has no "current" document and is not a delete')
        return self._upsert(current, current.get("_ts", metadata.get("crts")), metadata.get("lsn"))

    def _upsert(self, document: dict[str, Any], seconds: object, lsn: object) -> Change:
        reader = self._reader
        if self._has_declared_version:
            clock = reader.declared_clock(reader.declared_version_of(document))
        else:
            clock = self._clock(seconds, lsn)
        etag = document.get("_etag")
        return reader.change(
            reader.id_of(document),
            reader.partition_key_of(document),
            clock,
            document,
            etag if isinstance(etag, str) else None,
        )

    def _clock(self, seconds: object, lsn: object) -> str:
        clock = ticks_clock(seconds, lsn)
        if clock is None:
            raise self._reader.unreadable(
                f"_ts {value_in_message(seconds)} and _lsn {value_in_message(lsn)} are not a clock of a change feed"
            )
        return clock

    def _key_in(self, metadata: dict[str, Any]) -> list[object]:
        """The partition key values of a delete: a mapping of paths, or (for one path) the value."""
        given = metadata.get("partitionKey")
        if not isinstance(given, dict):
            values = given if isinstance(given, list) else [given]
            if len(values) != len(self._key_names):
                raise self._reader.unreadable(
                    f"{value_in_message(given)} is not a partition key of {len(self._key_names)} levels"
                )
            return values
        return [_value_at(given, names) for names in self._key_names]


def last_of_each_transaction(changes: Iterable[Change]) -> list[Change]:
    """A page of the all versions feed without changes that a later one of the same transaction and fact replaced."""
    last: dict[tuple[str, int], Change] = {}
    for change in changes:
        last[change.fact_key, lsn_of(change.version)] = change
    return list(last.values())


def _value_at(mapping: dict[str, Any], names: tuple[str, ...]) -> object:
    """The value of a path in a mapping that may spell it `a.b`, `/a/b`, or as nested mappings."""
    for spelling in (".".join(names), "/" + "/".join(names)):
        if spelling in mapping:
            return mapping[spelling]
    value: object = mapping
    for name in names:
        if not isinstance(value, dict) or name not in value:
            return MISSING
        value = value[name]
    return value
