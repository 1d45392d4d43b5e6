"""Page tokens: where a lookup goes on, encrypted so that they fit only the lookup that they were made for.

A token is the generation's id and the last entry key that was read, encrypted with AES-SIV: nobody can read the key
values in it, and a change of any bit is noticed. Index and query are sealed in as what it belongs to. The same position
always gives the same token: AES-SIV needs no random number, and a page that has not changed has the same link.
A token can only move the beginning of a range that the query itself spans, so even a forged one reaches nothing that
its query does not.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as BadBase64Error
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha512
from typing import TYPE_CHECKING, Final

from shared.errors import BadRequestError
from shared.inputs.faults import fault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

_TAG_BYTES: Final = 16
# No key and no id contains it.
_BETWEEN: Final = "\0"
# `sees` is honoured by the first page; the pages after it need not wait again.
_UNBOUND: Final = frozenset({"token", "sees"})


@dataclass(frozen=True, slots=True)
class PagePosition:
    """After which entry key of which generation a page begins; in which of the partitions, if several are asked for."""

    generation: str
    entry_key: str
    partition: int = 0


class PageTokens:
    """Seals and opens page tokens with one key, which all instances of the app share."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    @cached_property
    def _cipher(self) -> AESSIV:
        # The first page that has a next one needs it; it takes tens of milliseconds, which a start has no use for.
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV

        return AESSIV(sha512(b"encrypted page tokens\0" + self._key).digest())

    def seal(self, index: str, parameters: Mapping[str, str], position: PagePosition) -> str:
        """The token for a position in a lookup."""
        content = _BETWEEN.join((position.generation, str(position.partition), position.entry_key))
        return _written(self._cipher.encrypt(content.encode(), [_query(index, parameters)]))

    def open(self, index: str, parameters: Mapping[str, str], token: str) -> PagePosition:
        """The position in a token; raises `BadRequestError` when it was not made for this lookup."""
        content = self._decrypted(token, _query(index, parameters)).decode()
        generation, partition, entry_key = content.split(_BETWEEN, 2)
        return PagePosition(generation, entry_key, int(partition))

    def _decrypted(self, token: str, query: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag

        try:
            raw = urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4))
        except (BadBase64Error, ValueError):
            raise _foreign() from None
        # The decoder passes over characters that are no base64: a token has one spelling only.
        if _written(raw) != token or len(raw) <= _TAG_BYTES:
            raise _foreign()
        try:
            return self._cipher.decrypt(raw, [query])
        except InvalidTag:
            raise _foreign() from None


def _query(index: str, parameters: Mapping[str, str]) -> bytes:
    """What a token belongs to."""
    bound = sorted((name, value) for name, value in parameters.items() if name not in _UNBOUND)
    return json.dumps([index, bound]).encode()


def next_page_parameters(parameters: Mapping[str, str], token: str) -> dict[str, str]:
    """The parameters of the next page."""
    return {**{name: value for name, value in parameters.items() if name not in _UNBOUND}, "token": token}


def _written(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode("ascii").rstrip("=")


def _foreign() -> BadRequestError:
    detail = "The token was not made for this lookup, or was changed: follow nextLink as it is, or leave token out."
    return BadRequestError(fault("InvalidToken", "token", detail))
