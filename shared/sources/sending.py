"""Facts sent as events, keyed by fact key, so that all events of a fact share a partition.

For samples, tests and `index-tables load --events`. A fact becomes an event in the plain envelope, or is one where the
source takes documents. For Debezium and mappings nobody can invent the event around a fact: what is sent there is the
event itself. It is read as the pipeline will read it before any is sent, so that what would become a dead letter is
refused here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from shared.entries.changes.change import FactReader
from shared.entries.changes.event_changes import EventReader
from shared.entries.changes.received_event import ReceivedEvent, is_plain_event
from shared.entries.keys.fact_key import MISSING, is_fact_key_value
from shared.entries.rows.json_text import NotJsonError, dumps
from shared.errors import FactsNotWrittenError, IgnoredEventError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from azure.eventhub.aio import EventHubProducerClient

    from shared.definitions.model import Source
    from shared.entries.changes.change import Change

    # Opens a hub by its name, with options of the SDK's client.
    OpenHub: TypeAlias = "Callable[..., EventHubProducerClient]"

# Of the service: 1 MiB with all that is around the body, and partition keys of 128 characters.
LARGEST_BODY_BYTES: Final = (1 << 20) - 1024
LONGEST_KEY: Final = 128
# How long the SDK waits for more events before it sends what it has.
_LINGER_SECONDS: Final = 0.2
# Events are only read to find faults. The enqueued time does not matter for that.
_ANY_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class OutgoingEvent:
    """A body, and the key that chooses its partition."""

    body: bytes
    key: str
    properties: Mapping[str, Any] = field(default_factory=dict)


class FactEvents:
    """Makes the events of one source with `eventHub`."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._facts = FactReader(source)
        self._events = EventReader(source)
        # Other events of the hub may be sent, too; they are no change of this source.
        self.takes_facts = source.events.form in ("envelope", "document")

    def event(self, fact: dict[str, Any]) -> OutgoingEvent:
        """The event that upserts a fact, or that `fact` is; raises `UnreadableChangeError` with what is wrong with it.

        A key that a recorded event has is kept: of a deleted row Debezium may say nothing else.
        """
        event = self._event(fact)
        change = self._read(event)
        chosen = sha256(event.body).hexdigest() if change is None else _partition_key(change.fact_key)
        return OutgoingEvent(event.body, event.key or chosen, event.properties)

    def change(self, fact: dict[str, Any]) -> Change | None:
        """The change that the pipeline will read from that event, None for an event that it will ignore; raises
        `UnreadableChangeError`."""
        return self._read(self._event(fact))

    def _event(self, fact: dict[str, Any]) -> ReceivedEvent:
        if not self._is_enveloped and is_plain_event(fact):
            event = self._recorded(fact)
        else:
            event = ReceivedEvent(self._written(self._envelope(fact) if self._is_enveloped else fact), _ANY_TIME, 0)
        if len(event.body) > LARGEST_BODY_BYTES:
            size = f"{len(event.body):,} bytes, the service takes {LARGEST_BODY_BYTES:,}"
            raise self._facts.unreadable(f"its event has {size}")
        return event

    @property
    def _is_enveloped(self) -> bool:
        return self._source.events.form == "envelope"

    def _recorded(self, fact: dict[str, Any]) -> ReceivedEvent:
        try:
            event = ReceivedEvent.from_plain({**fact, "enqueued": _ANY_TIME.isoformat(), "sequenceNumber": 0})
        except (ValueError, TypeError) as error:
            raise self._facts.unreadable(f"it is not an event that a hub kept ({error})") from error
        if event.key is not None and len(event.key) > LONGEST_KEY:
            raise self._facts.unreadable(f"its key has {len(event.key)} characters, the service takes {LONGEST_KEY}")
        return event

    def _written(self, value: dict[str, Any]) -> bytes:
        try:
            return dumps(value).encode()
        except NotJsonError as error:
            raise self._facts.unreadable(f"it is not JSON that can be written ({error})") from error

    def _read(self, event: ReceivedEvent) -> Change | None:
        try:
            return self._events.read(*event)
        except IgnoredEventError:
            return None

    def _envelope(self, fact: dict[str, Any]) -> dict[str, Any]:
        envelope = {"source": self._source.name, "op": "upsert", "id": self._facts.id_of(fact)}
        values = list(self._facts.partition_key_of(fact))
        # JSON cannot express a missing value. Then, as for an invalid value, only the document has it.
        if values and all(value is not MISSING and is_fact_key_value(value) for value in values):
            envelope["partitionKey"] = values[0] if len(values) == 1 else values
        if self._source.version is not None:
            envelope["version"] = self._facts.declared_version_of(fact)
        return {**envelope, "document": fact}


def _partition_key(fact_key: str) -> str:
    """The fact key if every SDK hashes it in the same way and the service accepts it, else a digest of it."""
    fits = fact_key.isascii() and len(fact_key) <= LONGEST_KEY
    return fact_key if fits else sha256(fact_key.encode()).hexdigest()


async def send(
    open_hub: OpenHub, hub: str, events: Iterable[OutgoingEvent], accepted: Callable[[], None] = lambda: None
) -> None:
    """Send every event; `accepted` is called for each that the hub has taken.

    Raises `FactsNotWrittenError`, or azure-core's `ClientAuthenticationError` when there is no identity to send with.
    Events of one key arrive in the order in which they come here.
    """
    from azure.core.exceptions import ClientAuthenticationError
    from azure.eventhub import EventData
    from azure.eventhub.exceptions import EventHubError

    failures: list[Exception] = []
    try:
        async with _producer(open_hub, hub, accepted, failures) as producer:
            for event in events:
                data = EventData(event.body)
                data.properties = cast("dict[str | bytes, Any]", dict(event.properties))
                await producer.send_event(data, partition_key=event.key)
                if failures:
                    break
            await producer.flush()
    except (EventHubError, ClientAuthenticationError, OSError) as error:
        failures.append(error)
    if not failures:
        return
    if isinstance(failures[0], ClientAuthenticationError):
        raise failures[0]
    first = str(failures[0]).partition("\n")[0]
    raise FactsNotWrittenError(f"Not all facts were sent to the hub {hub}: {first} Run the same command again.")


def _producer(
    open_hub: OpenHub, hub: str, accepted: Callable[[], None], failures: list[Exception]
) -> EventHubProducerClient:
    async def on_success(events: Iterable[Any], _partition: str | None) -> None:
        for _ in events:
            accepted()

    async def on_error(_events: object, _partition: str | None, error: Exception) -> None:
        failures.append(error)

    return open_hub(
        hub,
        buffered_mode=True,
        on_success=on_success,
        on_error=on_error,
        max_wait_time=_LINGER_SECONDS,
        # A person waits at a terminal. For a busy service the SDK waits four seconds in any case.
        retry_backoff_factor=0.2,
    )


async def has_events(open_hub: OpenHub, hub: str) -> bool:
    """Whether an event was ever sent to the hub, including events that have expired since."""
    async with open_hub(hub) as client:
        for partition in await client.get_partition_ids():
            if (await client.get_partition_properties(partition))["last_enqueued_sequence_number"] >= 0:
                return True
    return False
