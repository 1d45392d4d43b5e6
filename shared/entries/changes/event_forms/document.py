"""Events that are facts: the body is the document. Of a record of Kafka Connect it is the payload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shared.entries.changes.event_forms.said import SaidByEvent

if TYPE_CHECKING:
    from shared.entries.changes.change import FactReader
    from shared.entries.changes.event_forms.bodies import EventBody
    from shared.entries.changes.received_event import ReceivedEvent


class DocumentForm:
    """A document; `deletes.when` says which of them are deletes."""

    def __init__(self, reader: FactReader) -> None:
        self._reader = reader

    def subject(self, body: EventBody) -> Any:
        """The document."""
        value = body.value
        return value["payload"] if _is_record(value) else value

    def read(self, subject: Any, received: ReceivedEvent) -> SaidByEvent:
        """The document, and nothing else."""
        if subject is None:
            fix = 'mark a delete in the document, with "deletes: {when: ...}"'
            raise self._reader.unreadable(f"the event is empty, and does not say which fact is meant: {fix}")
        return SaidByEvent(is_delete=False, document=subject)


def _is_record(value: Any) -> bool:
    """Whether this is what Kafka Connect's JSON converter writes with schemas: these two members, and no other."""
    return (
        isinstance(value, dict)
        and value.keys() == {"schema", "payload"}
        and isinstance(value["schema"], dict)
        and "type" in value["schema"]
    )
