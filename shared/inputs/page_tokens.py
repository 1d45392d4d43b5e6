"""Page tokens: where a lookup goes on, sealed so that it fits only the lookup that it was made for.

A token is base64 of a tag, the generation's id and the last entry key that was read. The tag covers index, generation,
entry key and query. A token can only move the beginning of a range that the query itself spans, so even a forged one
reaches nothing that its query does not.
"""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as BadBase64Error
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.errors import BadRequestError
from shared.inputs.faults import fault

if TYPE_CHECKING:
    from collections.abc import Mapping

_TAG_BYTES: Final = 16
# No key and no id contains it.
_BETWEEN: Final = "\0"
# `sees` is honoured by the first page; the pages after it need not wait again.
_UNBOUND: Final = frozenset({"token", "sees"})


@dataclass(frozen=True, slots=True)
class PagePosition:
    """After which entry key of which generation a page begins."""

    generation: str
    entry_key: str


class PageTokens:
    """Seals and opens page tokens with one key, which all instances of the app share."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seal(self, index: str, parameters: Mapping[str, str], position: PagePosition) -> str:
        """The token for a position in a lookup."""
        content = f"{position.generation}{_BETWEEN}{position.entry_key}".encode()
        return _written(self._tag(index, parameters, content) + content)

    def open(self, index: str, parameters: Mapping[str, str], token: str) -> PagePosition:
        """The position in a token; raises `BadRequestError` when it was not made for this lookup."""
        try:
            raw = urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4))
        except (BadBase64Error, ValueError):
            raise _foreign() from None
        tag, content = raw[:_TAG_BYTES], raw[_TAG_BYTES:]
        # The decoder passes over characters that are no base64: a token has one spelling only.
        if _written(raw) != token or not hmac.compare_digest(tag, self._tag(index, parameters, content)):
            raise _foreign()
        generation, _, entry_key = content.decode().partition(_BETWEEN)
        return PagePosition(generation, entry_key)

    def _tag(self, index: str, parameters: Mapping[str, str], content: bytes) -> bytes:
        bound = sorted((name, value) for name, value in parameters.items() if name not in _UNBOUND)
        query = json.dumps([index, bound]).encode()
        return hmac.digest(self._key, len(query).to_bytes(4, "big") + query + content, "sha256")[:_TAG_BYTES]


def next_page_parameters(parameters: Mapping[str, str], token: str) -> dict[str, str]:
    """The parameters of the next page."""
    return {**{name: value for name, value in parameters.items() if name not in _UNBOUND}, "token": token}


def _written(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode("ascii").rstrip("=")


def _foreign() -> BadRequestError:
    detail = "The token was not made for this lookup, or was changed: follow nextLink as it is, or leave token out."
    return BadRequestError(fault("InvalidToken", "token", detail))
