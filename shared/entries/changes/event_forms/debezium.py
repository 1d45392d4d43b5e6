"""Change events of Debezium, with or without the schema around them, also as CloudEvents: rows of databases, documents
of MongoDB.

`c`, `r` and `u` upsert what is `after`. `d` deletes: what `before` and the record's key say is enough to know which
fact. A tombstone (an empty body, or an empty payload) follows a delete and says nothing more. What is about no row is
ignored: messages of PostgreSQL's log, heartbeats, bounds of transactions, changes of tables.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from shared.entries.changes.event_forms.debezium_cloud_event import is_wrapped, wrapped_change
from shared.entries.changes.event_forms.extended_json import plain_json
from shared.entries.changes.event_forms.said import SaidByEvent
from shared.entries.changes.shown_values import value_in_message
from shared.entries.keys.fact_key import MISSING
from shared.entries.keys.versions import log_clock, ticks_clock
from shared.errors import IgnoredEventError

if TYPE_CHECKING:
    from shared.entries.changes.change import FactReader
    from shared.entries.changes.event_forms.bodies import EventBody
    from shared.entries.changes.received_event import ReceivedEvent

_UPSERTS: Final = frozenset("cru")
_DELETE, _TRUNCATE, _MESSAGE = "d", "t", "m"
# Connectors whose events name their place in a log. A read of an incremental snapshot has none.
_LOGGED: Final = frozenset({"postgresql", "mysql", "mariadb"})
_LOG_FILE: Final = re.compile(r".*?(\d{1,6})", re.ASCII)
# In a file of a MySQL log. A number of 6 digits and a place of 13 make a counter.
_FILE_PLACES: Final = 10**13
# What PostgreSQL did not log of a large column that an update left alone.
_UNAVAILABLE: Final = "__debezium_unavailable_value"
_ID, _ID_OF_MONGODB = "id", "_id"
_WHOLE_ROWS: Final = "let its database log whole rows (PostgreSQL: REPLICA IDENTITY FULL; MongoDB: pre-images)"


class DebeziumForm:
    """The changes of one table or collection."""

    def __init__(self, reader: FactReader) -> None:
        self._reader = reader

    def subject(self, body: EventBody) -> Any:
        """The change event without the schema or CloudEvent around it; None for a tombstone."""
        event = self._unwrapped(body.event)
        if not is_wrapped(event):
            return event
        change = wrapped_change(event)
        if change is None:
            fix = 'set "value.converter.data.serializer.type" to json'
            raise self._reader.unreadable(f'the "data" of the CloudEvent is not a JSON object: {fix}')
        return change

    def _unwrapped(self, value: Any) -> Any:
        if not isinstance(value, dict) or "op" in value or "schema" not in value:
            return value["payload"] if isinstance(value, dict) and value.keys() == {"payload"} else value
        if "payload" not in value:
            raise self._reader.unreadable('it has a "schema" and no "payload": send both, or neither')
        return value["payload"]

    def read(self, subject: Any, received: ReceivedEvent) -> SaidByEvent:
        """The change that the event describes."""
        if subject is None:
            raise IgnoredEventError
        op = subject.get("op") if isinstance(subject, dict) else None
        if op in _UPSERTS:
            row = self._after(subject)
            return SaidByEvent(is_delete=False, id=self._own_id(subject, row), document=row, clock=self._clock(subject))
        if op == _DELETE:
            row = self._deleted(subject, received.key)
            return SaidByEvent(is_delete=True, id=self._own_id(subject, row), document=row, clock=self._clock(subject))
        if op == _MESSAGE or _is_about_no_row(subject):
            raise IgnoredEventError
        if op == _TRUNCATE:
            fix = "delete rows one by one instead, or read the table on under a new source name"
            raise self._reader.unreadable(f'the table was truncated ("op" t), which does not name its facts: {fix}')
        what = "is not a JSON object" if not isinstance(subject, dict) else f'has the "op" {value_in_message(op)}'
        raise self._reader.unknown_form(f"the event {what}: it is not a change event of Debezium")

    def _after(self, event: dict[str, Any]) -> dict[str, Any]:
        after = self._row(event.get("after"))
        if after is None:
            fix = "let the connector send whole documents (MongoDB: capture.mode=change_streams_update_full)"
            raise self._reader.unreadable(f'it has no "after": {fix}')
        lacking = [name for name, value in after.items() if value == _UNAVAILABLE]
        if lacking:
            raise self._reader.unreadable(f'it does not have the value of "{lacking[0]}": {_WHOLE_ROWS}')
        self._check_same_fact(self._row(event.get("before")), after)
        return after

    def _check_same_fact(self, before: dict[str, Any] | None, after: dict[str, Any]) -> None:
        """A change of the partition key would leave the fact behind that it was before."""
        if before is None:
            return
        for old, new in zip(self._reader.partition_key_of(before), self._reader.partition_key_of(after), strict=True):
            if old not in (None, MISSING, new):
                change = f"from {value_in_message(old)} to {value_in_message(new)}"
                fix = 'name only columns in "partitionKey" that never change'
                raise self._reader.unreadable(f"the partition key of the row changed {change}: {fix}")

    def _deleted(self, event: dict[str, Any], key: str | None) -> dict[str, Any]:
        """All that is known of a deleted row."""
        before, named = self._row(event.get("before")), _record_key(key, is_of_mongodb=_is_of_mongodb(event))
        if before is None and named is None:
            raise self._reader.unreadable(
                f'it is a delete without "before", and its record has no key in JSON: send the key, or {_WHOLE_ROWS}'
            )
        row = {**(before or {}), **(named or {})}
        self._check_identified(event, row)
        return row

    def _own_id(self, event: dict[str, Any], row: dict[str, Any]) -> object:
        """What MongoDB knows a document by, and says of one that was deleted, unless the source names another field."""
        is_its_own = self._reader.source.id == _ID and _is_of_mongodb(event)
        return row.get(_ID_OF_MONGODB, MISSING) if is_its_own else MISSING

    def _check_identified(self, event: dict[str, Any], row: dict[str, Any]) -> None:
        source, own_id = self._reader.source, self._own_id(event, row)
        said = [(source.id, self._reader.id_of(row) if own_id is MISSING else own_id)]
        said += zip(source.partition_key, self._reader.partition_key_of(row), strict=True)
        if source.version is not None:
            said.append((source.version, self._reader.declared_version_of(row)))
        lacking = [path for path, value in said if value is None or value is MISSING]
        if lacking:
            raise self._reader.unreadable(f'the delete does not say "{lacking[0]}": {_WHOLE_ROWS}')

    def _row(self, value: Any) -> dict[str, Any] | None:
        """A row; MongoDB's documents come as texts in extended JSON."""
        if isinstance(value, str):
            value = plain_json(_json_or_none(value))
        return value if isinstance(value, dict) else None

    def _clock(self, event: dict[str, Any]) -> str:
        """When the database made the change."""
        found = event.get("source")
        source = found if isinstance(found, dict) else {}
        milliseconds = source.get("ts_ms", event.get("ts_ms"))
        position = _log_position(source)
        if position is None:
            clock = ticks_clock(milliseconds, source.get("ord") or 0)
        else:
            clock = log_clock(position, 0 if milliseconds is None else milliseconds)
        if clock is None:
            name, value = "ts_ms", milliseconds
            if ticks_clock(milliseconds, 0) is not None:
                name = "ord" if position is None else "lsn"
                value = source.get(name)
            raise self._reader.unreadable(
                f'{value_in_message(value)} at "source.{name}" is not a version: send it, or declare "version"'
            )
        return clock


def _is_about_no_row(event: Any) -> bool:
    """Whether a connector says something beside the changes of rows: that it lives, where a transaction begins or ends,
    how tables changed. It has topics for that, which may share a hub with the others."""
    if not isinstance(event, dict) or "op" in event:
        return False
    return event.keys() == {"ts_ms"} or {"status", "id", "event_count"} <= event.keys() or "tableChanges" in event


def _log_position(source: dict[str, Any]) -> object:
    """The place of a change in the log of its database; None when the connector does not have one."""
    if source.get("lsn") is not None:
        return source["lsn"]
    match = _LOG_FILE.fullmatch(str(source.get("file") or ""))
    place = source.get("pos")
    if match and type(place) is int and 0 <= place < _FILE_PLACES:
        return int(match[1]) * _FILE_PLACES + place
    # Below every change of the log: what such a snapshot reads is never newer than a change that was read from there.
    return 0 if source.get("connector") in _LOGGED else None


def _is_of_mongodb(event: dict[str, Any]) -> bool:
    source = event.get("source")
    return isinstance(source, dict) and source.get("connector") == "mongodb"


def _record_key(key: str | None, *, is_of_mongodb: bool) -> dict[str, Any] | None:
    """The columns that the key of a record names. That of MongoDB has one, with an id in extended JSON."""
    value = _json_or_none(key)
    if isinstance(value, dict) and isinstance(value.get("payload"), dict):
        value = value["payload"]
    if not isinstance(value, dict):
        return None
    if value.keys() == {"id"} and isinstance(value["id"], str):
        inner = _json_or_none(value["id"])
        own_id = {_ID_OF_MONGODB: value["id"] if inner is None else plain_json(inner)}
        return own_id if is_of_mongodb else {**value, **own_id}
    return value


def _json_or_none(text: str | None) -> Any:
    try:
        return json.loads(text or "")
    except (ValueError, RecursionError):
        return None
