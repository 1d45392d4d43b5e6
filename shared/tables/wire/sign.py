"""Signs requests: with the account's key (SharedKeyLite) or with a token of Entra ID."""

from __future__ import annotations

import asyncio
import hmac
from base64 import b64decode, b64encode
from binascii import Error as BadBase64Error
from dataclasses import dataclass
from email.utils import formatdate
from typing import TYPE_CHECKING, Final, Protocol

from shared.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# A token is replaced this long before it ends, so that it cannot end under a request on its way.
REFRESH_SECONDS: Final = 300


class Signer(Protocol):
    """Makes the headers that authorise a request."""

    async def headers(self, path: str) -> Mapping[str, str]:
        """The headers that authorise a request to this path (percent-encoded, without the query)."""


class KeySigner:
    """SharedKeyLite: a keyed digest of the date and the path."""

    def __init__(self, account: str, key: str, wall_seconds: Callable[[], float]) -> None:
        try:
            self._key = b64decode(key, validate=True)
        except (BadBase64Error, ValueError) as error:
            raise SettingError(
                f"The key of storage account {account} is not base64: copy the whole key again."
            ) from error
        self._account = account
        self._wall_seconds = wall_seconds

    async def headers(self, path: str) -> Mapping[str, str]:
        """The date and its signature."""
        date = formatdate(self._wall_seconds(), usegmt=True)
        text = f"{date}\n/{self._account}{path}".encode()
        digest = b64encode(hmac.digest(self._key, text, "sha256")).decode("ascii")
        return {"x-ms-date": date, "Authorization": f"SharedKeyLite {self._account}:{digest}"}


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token and when it ends."""

    text: str
    expires_at_seconds: float


class Credential(Protocol):
    """Where tokens come from."""

    async def token(self) -> Token:
        """A token for Azure Storage."""


class TokenSigner:
    """Entra ID: a bearer token, fetched once and kept until shortly before it ends."""

    def __init__(self, credential: Credential, wall_seconds: Callable[[], float]) -> None:
        self._credential = credential
        self._wall_seconds = wall_seconds
        self._token: Token | None = None
        self._fetching = asyncio.Lock()

    async def headers(self, path: str) -> Mapping[str, str]:
        """The token, in a header."""
        token = self._fresh() or await self._fetch()
        date = formatdate(self._wall_seconds(), usegmt=True)
        return {"x-ms-date": date, "Authorization": f"Bearer {token.text}"}

    def _fresh(self) -> Token | None:
        token = self._token
        if token is None or token.expires_at_seconds - REFRESH_SECONDS <= self._wall_seconds():
            return None
        return token

    async def _fetch(self) -> Token:
        """A new token; callers that come at the same time wait for one fetch."""
        async with self._fetching:
            token = self._fresh() or await self._credential.token()
            self._token = token
            return token
