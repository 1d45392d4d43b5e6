"""An event as a hub gave it, and the form in which a dead letter keeps it."""

from __future__ import annotations

from base64 import b64decode, b64encode
from datetime import datetime
from typing import Any, NamedTuple


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
