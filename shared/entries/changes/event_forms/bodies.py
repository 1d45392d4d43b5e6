"""The body of an event as JSON, and the attributes of a CloudEvent in binary mode, which stand beside the body.

Nothing here raises: whether a body that cannot be read matters is for each source of the hub to say.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shared.entries.changes.shown_values import value_in_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.entries.changes.received_event import ReceivedEvent

# Over AMQP, in both of its spellings; over Kafka, whose headers are properties to a receiver over AMQP; over HTTPS.
_ATTRIBUTE_PREFIXES: Final = ("cloudEvents:", "cloudEvents_", "ce_", "ce-")
_SPECVERSION: Final = "specversion"
_GZIP: Final = b"\x1f\x8b"
# An Avro file, and what the serialisers of schema registries put before an Avro value.
_AVRO: Final = (b"Obj\x01", b"\x00")
# The same before JSON: a zero and the number of its schema.
_REGISTERED_JSON: Final = re.compile(rb"\x00.{4}\s*[{\[]", re.DOTALL)


class EventBody(NamedTuple):
    """The JSON of a body (None for an empty one), what keeps it from being read, and attributes from beside it."""

    value: Any
    problem: str | None
    attributes: Mapping[str, Any]

    @property
    def event(self) -> Any:
        """The whole event: in binary mode the same object that structured mode has as its body."""
        return {**self.attributes, "data": self.value} if self.attributes else self.value


def read_body(received: ReceivedEvent) -> EventBody:
    """The body of an event, and the attributes beside it."""
    value, problem = _json(received.body)
    return EventBody(value, problem, _attributes(received.properties) if received.properties else {})


def _json(body: bytes | str) -> tuple[Any, str | None]:
    if not body:
        return None, None
    try:
        value = _parsed(body)
    except (ValueError, RecursionError) as error:
        return None, _problem(body, error)
    return _unwrapped(value) if isinstance(value, str) else (value, None)


def _unwrapped(text: str) -> tuple[Any, str | None]:
    """What a text in JSON says that is JSON itself: some senders encode twice. No sender means to do it three times."""
    try:
        value = _parsed(text)
    except (ValueError, RecursionError):
        return None, f"the event is the text {value_in_message(text)} in JSON: send the object itself"
    if isinstance(value, str):
        return None, "the event is encoded as JSON three times or more: encode the object once"
    return value, None


def _parsed(body: bytes | str) -> Any:
    # Strictly: `json.loads` would take UTF-16, and halves of characters.
    text = body.decode("utf-8-sig") if isinstance(body, bytes) else body
    return json.loads(text, parse_constant=_refuse_constant)


def _problem(body: bytes | str, error: Exception) -> str:
    if isinstance(body, bytes):
        if body.startswith(_GZIP):
            return "the event is not JSON but compressed with gzip: send it uncompressed"
        if _REGISTERED_JSON.match(body):
            return (
                "the event is JSON with the header of a schema registry before it: let the sender use a plain converter"
            )
        if body.startswith(_AVRO):
            return "the event is not JSON but Avro: let the sender use a JSON converter"
        if isinstance(error, UnicodeDecodeError):
            return f"the event is not JSON, since it is not UTF-8 ({error})"
    return f"the event is not JSON ({error})"


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _attributes(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a CloudEvent in binary mode; empty when it is none."""
    found = {
        name.removeprefix(prefix): value
        for name, value in properties.items()
        for prefix in _ATTRIBUTE_PREFIXES
        if name.startswith(prefix)
    }
    version = found.get(_SPECVERSION)
    if not isinstance(version, str):
        return {}
    # Headers of Kafka are bytes, which the host in Azure hands over in Base64.
    return found if "." in version else {name: _from_base64(value) for name, value in found.items()}


def _from_base64(value: Any) -> Any:
    try:
        return b64decode(value, validate=True).decode()
    except (TypeError, ValueError):
        return value
