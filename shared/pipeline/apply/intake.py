"""From what a trigger delivers to changes: each item is read on its own; what cannot be read is a dead letter."""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from shared.errors import UnreadableChangeError
from shared.pipeline.dead_letters.rows import unreadable_dead_letter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from shared.entries.changes.change import Change
    from shared.pipeline.dead_letters.rows import ArrivedBy, DeadLetter

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Intake:
    """The changes of a batch, and the letters of what was none."""

    changes: list[Change] = field(default_factory=list)
    unreadable: list[DeadLetter] = field(default_factory=list)


class ReceivedEvent(NamedTuple):
    """An event as a hub gave it."""

    body: bytes
    enqueued: datetime
    sequence_number: int

    def plain(self) -> dict[str, object]:
        """What a dead letter keeps of it; a body that is no text is kept in Base64."""
        try:
            body = {"body": self.body.decode()}
        except UnicodeDecodeError:
            body = {"bodyBase64": b64encode(self.body).decode()}
        return {**body, "enqueued": self.enqueued.isoformat(), "sequenceNumber": self.sequence_number}

    @classmethod
    def from_plain(cls, kept: dict[str, Any]) -> ReceivedEvent:
        """The event that `plain` was made from."""
        body = kept["body"].encode() if "body" in kept else b64decode(kept["bodyBase64"])
        return cls(body, datetime.fromisoformat(kept["enqueued"]), kept["sequenceNumber"])


def read_all(
    source: str,
    items: Iterable[T],
    read: Callable[[T], Change],
    plain: Callable[[T], object] = lambda item: item,
    via: ArrivedBy = "feed",
) -> Intake:
    """Read every item; one that cannot be read delays none of the others. `plain` is what its letter keeps."""
    intake = Intake()
    for item in items:
        try:
            intake.changes.append(read(item))
        except UnreadableChangeError as error:
            intake.unreadable.append(unreadable_dead_letter(source, plain(item), str(error), via))
    return intake
