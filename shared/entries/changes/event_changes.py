"""Changes from event hubs: one event, one change, in the plain envelope or as a CloudEvent.

What the envelope says wins over what stands in the document; where both speak they must agree. An event that
contradicts itself, or cannot be read at all, is an `UnreadableChangeError`: a dead letter, not a guess.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from shared.entries.changes.change import FactReader
from shared.entries.changes.shown_values import value_in_message
from shared.entries.keys.fact_key import MISSING, encode_fact_key, is_fact_key_value
from shared.entries.keys.versions import ticks_clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.definitions.model import Source
    from shared.entries.changes.change import Change

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UPSERT: Final = "upsert"
_DELETE: Final = "delete"


@dataclass(frozen=True, slots=True)
class _Envelope:
    """What an event says, in the words of the plain envelope. MISSING is what it does not say."""

    op: object
    id: object
    partition_key: object
    version: object
    document: object


class EventReader:
    """Reads the events of one source with `eventHub`."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._reader = FactReader(source)

    def read(self, body: bytes | str, enqueued: datetime, sequence_number: int) -> Change:
        """The change that an event is. A naive enqueued time is UTC."""
        event = self._parse(body)
        envelope = self._cloud_event(event) if "specversion" in event else self._plain(event)
        document = self._document(envelope)
        fact_id = self._fact_id(envelope, document)
        partition_key = self._partition_key(envelope, document)
        clock = self._clock(envelope, document, enqueued, sequence_number)
        return self._reader.change(fact_id, partition_key, clock, None if envelope.op == _DELETE else document)

    def _parse(self, body: bytes | str) -> dict[str, Any]:
        try:
            event = json.loads(body, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise self._reader.unreadable(f"the event is not JSON ({error})") from error
        if not isinstance(event, dict):
            raise self._reader.unreadable("the event is not a JSON object")
        return event

    def _plain(self, event: dict[str, Any]) -> _Envelope:
        named = event.get("source", self._source.name)
        if named != self._source.name:
            raise self._reader.unreadable(f"the event names the source {value_in_message(named)}")
        op = event.get("op")
        if op not in (_UPSERT, _DELETE):
            raise self._reader.unreadable(f'`op` is {value_in_message(op)}: send "upsert" or "delete"')
        return _envelope(op, event, ("id", "partitionKey", "version", "document"))

    def _cloud_event(self, event: dict[str, Any]) -> _Envelope:
        if not str(event["specversion"]).startswith("1."):
            raise self._reader.unreadable(f"CloudEvents {value_in_message(event['specversion'])} is not 1.0")
        kind = str(event.get("type"))
        op = _UPSERT if kind.endswith(".upserted") else _DELETE if kind.endswith(".deleted") else None
        if op is None:
            raise self._reader.unreadable(f"`type` is {value_in_message(kind)}: it must end in .upserted or .deleted")
        return _envelope(op, event, ("subject", "partitionkey", "version", "data"))

    def _document(self, envelope: _Envelope) -> dict[str, Any] | None:
        if isinstance(envelope.document, dict):
            return envelope.document
        if envelope.op == _DELETE and envelope.document in (None, MISSING):
            return None
        raise self._reader.unreadable(f"the document is {value_in_message(envelope.document)}: send a JSON object")

    def _fact_id(self, envelope: _Envelope, document: dict[str, Any] | None) -> object:
        inside = None if document is None else self._reader.id_of(document)
        if envelope.id is MISSING:
            return inside
        if inside is not None and str(inside) != str(envelope.id):
            raise self._contradiction("id", envelope.id, inside)
        return envelope.id

    def _partition_key(self, envelope: _Envelope, document: dict[str, Any] | None) -> Sequence[object]:
        levels = len(self._source.partition_key)
        inside = (MISSING,) * levels if document is None else self._reader.partition_key_of(document)
        if envelope.partition_key is MISSING:
            if document is None and levels:
                raise self._reader.unreadable("a delete without document has no `partitionKey`")
            return inside
        said = envelope.partition_key if isinstance(envelope.partition_key, list) else [envelope.partition_key]
        if len(said) != levels:
            raise self._reader.unreadable(f"`partitionKey` has {len(said)} values, the source declares {levels} paths")
        for outer, inner in zip(said, inside, strict=True):
            if inner is not MISSING and not _is_same_key_value(outer, inner):
                raise self._contradiction("partitionKey", outer, inner)
        return said

    def _clock(
        self, envelope: _Envelope, document: dict[str, Any] | None, enqueued: datetime, sequence_number: int
    ) -> str:
        if self._source.version is None:
            moment = enqueued if enqueued.tzinfo else enqueued.replace(tzinfo=UTC)
            clock = ticks_clock((moment - _EPOCH) // timedelta(microseconds=1), sequence_number)
            if clock is None:
                raise self._reader.unreadable(f"sequence number {value_in_message(sequence_number)} is no clock")
            return clock
        inside = None if document is None else self._reader.declared_version_of(document)
        if envelope.version is MISSING:
            return self._reader.declared_clock(inside)
        clock = self._reader.declared_clock(envelope.version)
        if inside is not None and self._reader.declared_clock(inside) != clock:
            raise self._contradiction("version", envelope.version, inside)
        return clock

    def _contradiction(self, key: str, outer: object, inner: object) -> Exception:
        says = f"the envelope says {value_in_message(outer)} for `{key}`, the document {value_in_message(inner)}"
        return self._reader.unreadable(f"{says}: let them agree")


def _envelope(op: str, event: dict[str, Any], keys: tuple[str, str, str, str]) -> _Envelope:
    """What an event says under these keys. Null is a partition key value; an id or version it is not said."""
    fact_id, partition_key, version, document = (event.get(key, MISSING) for key in keys)
    said_id, said_version = (MISSING if value is None else value for value in (fact_id, version))
    return _Envelope(op, said_id, partition_key, said_version, document)


def _is_same_key_value(left: Any, right: Any) -> bool:
    """Whether two values are one partition: as Cosmos DB sees it, 1 and 1.0 are, 1 and "1" are not."""
    if not (is_fact_key_value(left) and is_fact_key_value(right)):
        return False
    return encode_fact_key([left], "") == encode_fact_key([right], "")


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")
