"""Who calls: a function key, or a token of Microsoft Entra ID."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias


class AccessToken(Protocol):
    """What a credential of azure-identity gives."""

    @property
    def token(self) -> str:
        """The token itself."""


class TokenCredential(Protocol):
    """A credential of azure-identity, such as `DefaultAzureCredential`."""

    def get_token(self, *scopes: str) -> AccessToken:
        """A token that is good now."""


class AsyncTokenCredential(Protocol):
    """A credential of azure.identity.aio."""

    async def get_token(self, *scopes: str) -> AccessToken:
        """A token that is good now."""


Credential: TypeAlias = "str | Callable[[], str] | TokenCredential"
AsyncCredential: TypeAlias = "Credential | Callable[[], Awaitable[str]] | AsyncTokenCredential"


class Caller:
    """Makes the header that shows who calls, for each request anew."""

    def __init__(self, key: str | None, credential: AsyncCredential | None, scope: str | None) -> None:
        if key is not None and credential is not None:
            raise ValueError("Give a key or a credential: an app takes one of them.")
        if hasattr(credential, "get_token") and scope is None:
            raise ValueError("A credential needs the scope of the app, such as api://CLIENT-ID/.default.")
        self._key = key
        self._credential: Any = credential
        self._scope = scope

    def token(self) -> Any:
        """What the credential gives, which may have to be awaited; None without one."""
        if hasattr(self._credential, "get_token"):
            return self._credential.get_token(self._scope)
        return self._credential() if callable(self._credential) else self._credential

    def headers(self, token: str | AccessToken | None) -> dict[str, str]:
        """The header, once the token is there."""
        if token is not None:
            return {"Authorization": f"Bearer {token if isinstance(token, str) else token.token}"}
        return {} if self._key is None else {"x-functions-key": self._key}
