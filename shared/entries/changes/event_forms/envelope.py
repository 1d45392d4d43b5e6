"""Events in the plain envelope of this product, or as CloudEvents whose type ends in .upserted or .deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shared.entries.changes.event_forms.debezium_cloud_event import is_wrapped
from shared.entries.changes.event_forms.said import SaidByEvent
from shared.entries.changes.shown_values import value_in_message
from shared.entries.keys.fact_key import MISSING
from shared.errors import IgnoredEventError

if TYPE_CHECKING:
    from collections.abc import Collection

    from shared.entries.changes.change import FactReader
    from shared.entries.changes.event_forms.bodies import EventBody
    from shared.entries.changes.received_event import ReceivedEvent

_DELETES: Final = {"upsert": False, "delete": True}
_PLAIN: Final = ("id", "partitionKey", "version", "document")
_CLOUD: Final = ("subject", "partitionkey", "version", "data")


class EnvelopeForm:
    """The envelope. On a hub of several such sources an event has to name its own, unless `when` chooses."""

    def __init__(self, reader: FactReader, others: Collection[str]) -> None:
        self._reader = reader
        self._source = reader.source.name
        self._others = others
        self._must_name = bool(others) and reader.source.events.when is None

    def subject(self, body: EventBody) -> Any:
        """The envelope or CloudEvent."""
        return body.event

    def read(self, subject: Any, received: ReceivedEvent) -> SaidByEvent:
        """What the envelope says."""
        if not isinstance(subject, dict):
            what = "the event is not a JSON object" if received.body else "the event is not JSON: it is empty"
            raise self._reader.unknown_form(what)
        return self._cloud_event(subject) if "specversion" in subject else self._plain(subject)

    def _plain(self, event: dict[str, Any]) -> SaidByEvent:
        op = event.get("op")
        if not isinstance(op, str) or op not in _DELETES:
            raise self._reader.unknown_form(f'"op" is {value_in_message(op)}: send "upsert" or "delete"')
        self._check_source(event.get("source", MISSING))
        return _said(_DELETES[op], event, _PLAIN)

    def _check_source(self, named: object) -> None:
        if named is MISSING and self._must_name:
            raise self._reader.unreadable('it names no "source", and its hub feeds several: name one of them')
        if named in self._others:
            raise IgnoredEventError
        if named not in (MISSING, self._source):
            raise self._reader.unreadable(f"the event names the source {value_in_message(named)}")

    def _cloud_event(self, event: dict[str, Any]) -> SaidByEvent:
        if not str(event["specversion"]).startswith("1."):
            raise self._reader.unknown_form(f"CloudEvents {value_in_message(event['specversion'])} is not 1.0")
        if is_wrapped(event):
            raise self._reader.unknown_form('it is a change event of Debezium: write "events: debezium"')
        kind = str(event.get("type"))
        if not kind.endswith((".upserted", ".deleted")):
            raise self._reader.unknown_form(f'"type" is {value_in_message(kind)}: it must end in .upserted or .deleted')
        if self._must_name:
            fix = 'give each of them "events: {form: envelope, when: ...}"'
            raise self._reader.unreadable(f"a CloudEvent names none of the sources that its hub feeds: {fix}")
        if "data_base64" in event:
            raise self._reader.unreadable('it has "data_base64": send "data" as JSON')
        return _said(kind.endswith(".deleted"), event, _CLOUD)


def _said(is_delete: bool, event: dict[str, Any], keys: tuple[str, str, str, str]) -> SaidByEvent:
    """What an event says under these keys. Null is a partition key value; an id or version it is not said."""
    fact_id, partition_key, version, document = (event.get(key, MISSING) for key in keys)
    said_id, said_version = (MISSING if value is None else value for value in (fact_id, version))
    return SaidByEvent(is_delete, said_id, partition_key, said_version, document)
