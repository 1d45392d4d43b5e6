"""Documents on their way in: checked, stripped of what only the server may set, and stamped with it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from local.emulators.cosmos.data.container_settings import is_ttl
from local.emulators.cosmos.data.resource_ids import item_rid
from local.emulators.cosmos.errors import BadRequestError, TooLargeError
from local.emulators.cosmos.exchange import MAX_BODY_BYTES, encode_json

if TYPE_CHECKING:
    from local.emulators.cosmos.data.containers import Container

MAX_ID_BYTES = 1023
SYSTEM_PROPERTIES = ("_rid", "_self", "_etag", "_attachments", "_ts", "_lsn")
_FORBIDDEN_IN_ID = re.compile(r"[/\\#]")


def checked_document(document: Any) -> dict[str, Any]:
    """A document that may be stored: an object with a valid id, without system properties."""
    if not isinstance(document, dict):
        raise BadRequestError("A document must be a JSON object.")
    checked_id(document.get("id"))
    if "ttl" in document and not is_ttl(document["ttl"]):
        raise BadRequestError('"ttl" must be -1 or a positive number of seconds.')
    for name in SYSTEM_PROPERTIES:
        document.pop(name, None)
    return document


def checked_id(value: Any) -> str:
    """An item id as the service allows it."""
    if not isinstance(value, str) or not 0 < len(value.encode()) <= MAX_ID_BYTES:
        raise BadRequestError(f'"id" must be a string of 1 to {MAX_ID_BYTES} bytes.')
    if _FORBIDDEN_IN_ID.search(value):
        raise BadRequestError(f'"id" {value!r} must not contain / \\ or #.')
    return value


def stamped(container: Container, document: dict[str, Any], serial: int, etag: str, ts: int) -> bytes:
    """The document as it is stored and shown: serialised once, with its system properties at the end."""
    rid = item_rid(container.database, container.number, serial)
    system = (
        f',"_rid":"{rid}","_self":"{container.link}docs/{rid}/","_etag":"\\"{etag[1:-1]}\\"",'
        f'"_attachments":"attachments/","_ts":{ts}}}'
    )
    text = encode_json(document)
    if len(text) > MAX_BODY_BYTES:
        raise TooLargeError(f"The document has {len(text)} bytes; the limit is {MAX_BODY_BYTES}.")
    return text[:-1] + system.encode()


def expiry(container: Container, document: dict[str, Any], ts: int) -> int | None:
    """When the document expires, if it does: time to live counts only where the container switches it on."""
    if container.default_ttl_seconds is None:
        return None
    ttl = document.get("ttl") or container.default_ttl_seconds
    return None if ttl == -1 else ts + int(ttl)
