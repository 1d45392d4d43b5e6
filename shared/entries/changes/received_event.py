"""An event as a hub gave it, and the form in which a dead letter keeps it."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_PROPERTIES: Final[Mapping[str, Any]] = MappingProxyType({})
_BODIES: Final = frozenset({"body", "bodyBase64"})
_MEMBERS: Final = _BODIES | {"enqueued", "sequenceNumber", "key", "properties"}


class ReceivedEvent(NamedTuple):
    """An event as a hub gave it: its key is what chose its partition, its properties are those of the sender."""

    body: bytes
    enqueued: datetime
    sequence_number: int
    key: str | None = None
    properties: Mapping[str, Any] = NO_PROPERTIES

    def plain(self) -> dict[str, object]:
        """What a dead letter keeps of it; a body that is no text is kept in Base64."""
        try:
            body = {"body": self.body.decode()}
        except UnicodeDecodeError:
            body = {"bodyBase64": b64encode(self.body).decode()}
        more = {"key": self.key, "properties": dict(self.properties)}
        said = {name: value for name, value in more.items() if value}
        return {**body, "enqueued": self.enqueued.isoformat(), "sequenceNumber": self.sequence_number, **said}

    @classmethod
    def from_plain(cls, kept: dict[str, Any]) -> ReceivedEvent:
        """The event that `plain` was made from; in a file its body and key may be JSON instead of text."""
        body = _text(kept["body"]).encode() if "body" in kept else b64decode(kept["bodyBase64"], validate=True)
        enqueued = datetime.fromisoformat(kept["enqueued"])
        key, properties = kept.get("key"), kept.get("properties") or NO_PROPERTIES
        return cls(body, enqueued, kept["sequenceNumber"], None if key is None else _text(key), properties)


def is_plain_event(value: dict[str, Any]) -> bool:
    """Whether this may be what `plain` gives. A fact may have a `body`, but hardly that and nothing of its own."""
    return bool(_BODIES & value.keys()) and value.keys() <= _MEMBERS


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
