"""What the events of one hub are to each of the sources that it feeds.

Every source judges for itself: an event may be a change of several, and a dead letter of one beside a change of
another. Only an event in a form that a source does not know depends on the others: if one of them knows it, it is
theirs, and ignored here; if none does, somebody sends what nobody reads, and it becomes a dead letter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from shared.entries.changes.change import Change
from shared.entries.changes.event_changes import EventReader
from shared.entries.changes.event_forms.bodies import read_body
from shared.errors import IgnoredEventError, UnknownFormError, UnreadableChangeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.definitions.model import Definitions, Source
    from shared.entries.changes.event_forms.bodies import EventBody
    from shared.entries.changes.received_event import ReceivedEvent

# What an event is to a source: a change, one that cannot be read, or (None) nothing.
Outcome: TypeAlias = Change | UnreadableChangeError | None


class HubReader:
    """Reads the events of a hub for all of its sources."""

    def __init__(self, sources: Iterable[Source]) -> None:
        sharing = {source.name: source for source in sources}
        enveloped = {name for name, source in sharing.items() if source.events.form == "envelope"}
        self.sources = tuple(sharing)
        self._readers = {name: EventReader(source, enveloped - {name}) for name, source in sharing.items()}

    @classmethod
    def of(cls, source: Source, definitions: Definitions) -> HubReader:
        """The reader of a source's hub. The source may be another version of the one that is defined."""
        sharing = definitions.sources_of_hub(source.event_hub) if source.event_hub else ()
        return cls([source, *(other for other in sharing if other.name != source.name)])

    def read(self, received: ReceivedEvent) -> dict[str, Outcome]:
        """What an event is to each source."""
        body = read_body(received)
        outcomes = {name: _outcome(reader, received, body) for name, reader in self._readers.items()}
        if len(outcomes) > 1 and any(map(_is_known, outcomes.values())):
            return {name: None if isinstance(found, UnknownFormError) else found for name, found in outcomes.items()}
        return outcomes

    def read_for(self, source: str, received: ReceivedEvent) -> Change:
        """The change that an event is of one source; raises `UnreadableChangeError` or `IgnoredEventError`."""
        found = self.read(received)[source]
        if isinstance(found, Change):
            return found
        raise found or IgnoredEventError(f'The event is not a change of source "{source}".')


def _outcome(reader: EventReader, received: ReceivedEvent, body: EventBody) -> Outcome:
    try:
        return reader.change(received, body)
    except UnreadableChangeError as error:
        return error
    except IgnoredEventError:
        return None


def _is_known(outcome: Outcome) -> bool:
    return outcome is not None and not isinstance(outcome, UnknownFormError)
