"""What an event says, whatever its form, and how a form is asked for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from shared.entries.keys.fact_key import MISSING

if TYPE_CHECKING:
    from shared.entries.changes.event_forms.bodies import EventBody
    from shared.entries.changes.received_event import ReceivedEvent


@dataclass(frozen=True, slots=True)
class SaidByEvent:
    """What an event says about a change. MISSING is what it does not say."""

    is_delete: bool
    id: object = MISSING
    # A value, or a list of values.
    partition_key: object = MISSING
    version: object = MISSING
    document: object = MISSING
    # Of the database that the event comes from; counts when no version is declared.
    clock: str | None = None


class EventForm(Protocol):
    """Reads events of one form for one source. Raises `UnreadableChangeError`, with `UnknownFormError` for an event of
    another form, and `IgnoredEventError` for one that belongs to another source or says nothing."""

    def subject(self, body: EventBody) -> Any:
        """What the source's `when` is about."""

    def read(self, subject: Any, received: ReceivedEvent) -> SaidByEvent:
        """What the event says."""
