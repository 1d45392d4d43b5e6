"""Events of any form, as the mapping of a source says: paths of what makes a change, in the body or CloudEvent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shared.definitions.field_paths import segments
from shared.entries.changes.change import compile_key_path
from shared.entries.changes.event_forms.said import SaidByEvent
from shared.entries.changes.paths import compile_condition, compile_path
from shared.entries.keys.fact_key import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.entries.changes.change import FactReader
    from shared.entries.changes.event_forms.bodies import EventBody
    from shared.entries.changes.received_event import ReceivedEvent


class MappedForm:
    """A mapping. A path that it gives must lead to something; what it does not give stands in the document."""

    def __init__(self, reader: FactReader) -> None:
        self._reader = reader
        events = reader.source.events
        self._id = _compiled(events.id)
        self._partition_key = [(path, compile_key_path(path)) for path in events.partition_key]
        self._version = _compiled(events.version)
        self._document = _compiled(events.document)
        self._is_delete = compile_condition(events.delete) if events.delete else None

    def subject(self, body: EventBody) -> Any:
        """The body, or the CloudEvent."""
        return body.event

    def read(self, subject: Any, received: ReceivedEvent) -> SaidByEvent:
        """What is found at the paths."""
        if subject is None:
            raise self._reader.unreadable("the event is not JSON: it is empty")
        is_delete = self._is_delete is not None and self._reader.evaluate(self._is_delete, subject, "events.delete")
        return SaidByEvent(
            is_delete,
            self._found(self._id, subject, "id"),
            self._key(subject),
            self._found(self._version, subject, "version"),
            self._found(self._document, subject, "document", is_needed=not is_delete) if self._document else subject,
        )

    def _found(
        self, path: tuple[str, Callable[[Any], Any]] | None, subject: Any, key: str, *, is_needed: bool = True
    ) -> object:
        if path is None:
            return MISSING
        text, get = path
        value = self._reader.evaluate(get, subject, f"events.{key}")
        if value is None and is_needed:
            raise self._nothing(text, key)
        return MISSING if value is None else value

    def _key(self, subject: Any) -> object:
        """The values of the partition key. Null is one, at a path; an expression that gives null gives nothing."""
        if not self._partition_key:
            return MISSING
        values = []
        for text, get in self._partition_key:
            value = self._reader.evaluate(get, subject, "events.partitionKey")
            if value is MISSING or (value is None and segments(text) is None):
                raise self._nothing(text, "partitionKey")
            values.append(value)
        return values

    def _nothing(self, path: str, key: str) -> Exception:
        return self._reader.unreadable(f'there is nothing at "{path}", the "{key}" of "events": correct the path')


def _compiled(path: str | None) -> tuple[str, Callable[[Any], Any]] | None:
    return None if path is None else (path, compile_path(path))
