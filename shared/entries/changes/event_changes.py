"""Changes from event hubs: one event, one change, in the form that its source names.

What an event says of a change wins over what stands in the document; where both speak they must agree. An event that
contradicts itself, or cannot be read at all, is an `UnreadableChangeError`: a dead letter, not a guess.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from shared.entries.changes.change import FactReader
from shared.entries.changes.event_forms.bodies import EventBody, read_body
from shared.entries.changes.event_forms.document import DocumentForm
from shared.entries.changes.event_forms.envelope import EnvelopeForm
from shared.entries.changes.paths import compile_condition
from shared.entries.changes.received_event import NO_PROPERTIES, ReceivedEvent
from shared.entries.changes.shown_values import value_in_message
from shared.entries.keys.fact_key import MISSING, encode_fact_key, is_fact_key_value
from shared.entries.keys.versions import ticks_clock
from shared.errors import IgnoredEventError, UnreadableChangeError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from shared.definitions.model import Source
    from shared.entries.changes.change import Change
    from shared.entries.changes.event_forms.said import EventForm, SaidByEvent

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class EventReader:
    """Reads the events of one source with `eventHub`. `others` are envelope sources that the same hub feeds."""

    def __init__(self, source: Source, others: Collection[str] = ()) -> None:
        self._source = source
        self._reader = FactReader(source)
        self._form = _form(self._reader, others)
        self._is_meant = compile_condition(source.events.when) if source.events.when else None
        # A mapping may find an id beside a document that has another `id` of its own.
        self._must_agree = source.events.form != "mapping" or source.cosmos is not None
        # Nor is a field `id` of a document of MongoDB what it is known by.
        self._ids_must_agree = self._must_agree and source.events.form != "debezium"

    def read(
        self,
        body: bytes,
        enqueued: datetime,
        sequence_number: int,
        key: str | None = None,
        properties: Mapping[str, Any] = NO_PROPERTIES,
    ) -> Change:
        """The change that an event is. A naive enqueued time is UTC.

        Raises `UnreadableChangeError`, or `IgnoredEventError` for an event that is no change of this source.
        """
        received = ReceivedEvent(body, enqueued, sequence_number, key, properties)
        return self.change(received, read_body(received))

    def change(self, received: ReceivedEvent, body: EventBody) -> Change:
        """The same, of an event whose body is read already."""
        if body.problem is not None:
            # The attributes of a CloudEvent may say that it is another's, whatever its body is.
            if body.attributes and not self._is_wanted(body.event):
                raise IgnoredEventError
            raise self._reader.unreadable(body.problem)
        subject = self._form.subject(body)
        if not self._is_wanted(subject):
            self._check_list(body.value)
            raise IgnoredEventError
        said = self._form.read(subject, received)
        document = self._document(said)
        fact_id = self._fact_id(said, document)
        partition_key = self._partition_key(said, document)
        clock = self._clock(said, document, received)
        return self._reader.change(fact_id, partition_key, clock, None if said.is_delete else document)

    def _is_wanted(self, subject: Any) -> bool:
        return self._is_meant is None or bool(self._reader.evaluate(self._is_meant, subject, "events.when"))

    def _check_list(self, value: Any) -> None:
        """Raise for a list in which an event is meant: nothing of it would be applied, and nobody would know."""
        listed = value if isinstance(value, list) else ()
        if any(isinstance(each, dict) and self._is_wanted(self._subject_of(each)) for each in listed):
            what = f"it is {value_in_message(value)}, and one of them is meant: send each as an event of its own"
            raise self._reader.unreadable(what)

    def _subject_of(self, value: dict[str, Any]) -> Any:
        try:
            return self._form.subject(EventBody(value, None, {}))
        except UnreadableChangeError:
            return None

    def _document(self, said: SaidByEvent) -> dict[str, Any] | None:
        if isinstance(said.document, dict):
            return said.document
        if said.is_delete and said.document in (None, MISSING):
            return None
        raise self._reader.unreadable(f"the document is {value_in_message(said.document)}: send a JSON object")

    def _fact_id(self, said: SaidByEvent, document: dict[str, Any] | None) -> object:
        if said.id is MISSING:
            return None if document is None else self._reader.id_of(document)
        inside = None if document is None or not self._ids_must_agree else self._reader.id_of(document)
        if inside is not None and str(inside) != str(said.id):
            raise self._contradiction("id", said.id, inside)
        return said.id

    def _partition_key(self, said: SaidByEvent, document: dict[str, Any] | None) -> Sequence[object]:
        levels = len(self._source.partition_key)
        inside = (MISSING,) * levels if document is None else self._reader.partition_key_of(document)
        if said.partition_key is MISSING:
            if document is None and levels:
                raise self._reader.unreadable('a delete without document has no "partitionKey"')
            return inside
        values = said.partition_key if isinstance(said.partition_key, list) else [said.partition_key]
        if len(values) != levels:
            what = f'"partitionKey" has {len(values)} values, the source declares {levels} paths'
            raise self._reader.unreadable(what)
        for outer, inner in zip(values, inside, strict=True) if self._must_agree else ():
            if inner is not MISSING and not _is_same_key_value(outer, inner):
                raise self._contradiction("partitionKey", outer, inner)
        return values

    def _clock(self, said: SaidByEvent, document: dict[str, Any] | None, received: ReceivedEvent) -> str:
        if self._source.version is None:
            return said.clock or self._arrival(received)
        if said.version is MISSING:
            return self._reader.declared_clock(None if document is None else self._reader.declared_version_of(document))
        clock = self._reader.declared_clock(said.version)
        inside = None if document is None or not self._must_agree else self._reader.declared_version_of(document)
        if inside is not None and self._reader.declared_clock(inside) != clock:
            raise self._contradiction("version", said.version, inside)
        return clock

    def _arrival(self, received: ReceivedEvent) -> str:
        enqueued = received.enqueued
        moment = enqueued if enqueued.tzinfo else enqueued.replace(tzinfo=UTC)
        clock = ticks_clock((moment - _EPOCH) // timedelta(microseconds=1), received.sequence_number)
        if clock is None:
            shown = value_in_message(received.sequence_number)
            raise self._reader.unreadable(f"sequence number {shown} is not a clock")
        return clock

    def _contradiction(self, key: str, outer: object, inner: object) -> Exception:
        says = f'the envelope says {value_in_message(outer)} for "{key}", the document {value_in_message(inner)}'
        return self._reader.unreadable(f"{says}: let them agree")


def _form(reader: FactReader, others: Collection[str]) -> EventForm:
    """The form that a source names. Those that most hubs do without are imported by the hubs that have them."""
    form = reader.source.events.form
    if form == "debezium":
        from shared.entries.changes.event_forms.debezium import DebeziumForm

        return DebeziumForm(reader)
    if form == "mapping":
        from shared.entries.changes.event_forms.mapping import MappedForm

        return MappedForm(reader)
    return DocumentForm(reader) if form == "document" else EnvelopeForm(reader, others)


def _is_same_key_value(left: Any, right: Any) -> bool:
    """Whether two values are one partition: as Cosmos DB sees it, 1 and 1.0 are, 1 and "1" are not."""
    if not (is_fact_key_value(left) and is_fact_key_value(right)):
        return False
    return encode_fact_key([left], "") == encode_fact_key([right], "")
