"""Signatures: every request carries an HMAC of its verb, resource and date under the account's key.

Clients sign a named resource by its path, and one addressed by rid by that rid alone in lower case.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import unquote

from local.emulators.cosmos.errors import UnauthorizedError
from local.process.errors import LocalRunError

if TYPE_CHECKING:
    from local.emulators.cosmos.exchange import Call


class Signatures:
    """Checks requests against the account's key."""

    def __init__(self, key: str) -> None:
        try:
            self._key = base64.b64decode(key, validate=True)
        except (binascii.Error, ValueError) as error:
            raise LocalRunError("The Cosmos DB key is not base64: give --key a base64 value.") from error

    def check(self, call: Call) -> None:
        """Refuse a request whose signature does not fit."""
        given = _signature(call.headers.get("authorization", ""))
        kind, link = _resource(call.path)
        candidates = [link]
        if link:
            candidates.append(link.rpartition("/")[2].lower())
        dated = call.headers.get("x-ms-date", "")
        date = "" if dated else call.headers.get("date", "")
        for candidate in candidates:
            text = f"{call.method.lower()}\n{kind}\n{candidate}\n{dated.lower()}\n{date.lower()}\n"
            if hmac.compare_digest(_sign(self._key, text), given):
                return
        raise UnauthorizedError(
            "The authorization token does not fit the request: use this server's key and sign the verb, "
            f"resource type {kind!r}, resource {link!r} and x-ms-date that are sent."
        )


# A date is good for a second: under load many requests carry the same signature.
@lru_cache(maxsize=1024)
def _sign(key: bytes, text: str) -> bytes:
    return base64.b64encode(hmac.digest(key, text.encode(errors="surrogatepass"), hashlib.sha256))


@lru_cache(maxsize=1024)
def _signature(header: str) -> bytes:
    """The `sig` of `type=master&ver=1.0&sig=…`, which is percent-encoded as a whole."""
    text = unquote(header)
    # The first `sig=`: one signature in 65,536 ends with these four characters itself.
    return text.partition("sig=")[2].encode(errors="replace") if text.startswith("type=master") else b""


def _resource(path: tuple[str, ...]) -> tuple[str, str]:
    """The resource type and link to sign: a path of odd length ends with the type of a collection."""
    if len(path) % 2:
        return path[-1], "/".join(path[:-1])
    return (path[-2] if path else ""), "/".join(path)
