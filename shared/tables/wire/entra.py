"""The adapter to azure-identity: tokens for Azure Storage, of whatever credential."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from shared.errors import RequestRefusedError, StorageUnavailableError
from shared.tables.wire.sign import Token

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from azure.core.credentials import AccessToken

SCOPE: Final = "https://storage.azure.com/.default"


class AzureIdentity(Protocol):
    """What is used of azure-identity's async credentials."""

    def get_token(self, *scopes: str) -> Awaitable[AccessToken]:
        """A token for these scopes."""

    async def close(self) -> None:
        """Let go of connections."""


class EntraCredential:
    """Tokens for Azure Storage from any credential of azure-identity."""

    def __init__(self, credential: AzureIdentity) -> None:
        self._credential = credential

    async def token(self) -> Token:
        """A token for Azure Storage."""
        from azure.core.exceptions import AzureError, ClientAuthenticationError

        try:
            token = await self._credential.get_token(SCOPE)
        except ClientAuthenticationError as error:
            raise RequestRefusedError(
                "There is no token for storage: in Azure assign the app a managed identity, and set its client id if "
                f'it has several; on your own machine sign in with "az login". ({error.__class__.__name__})'
            ) from error
        except AzureError as error:
            raise StorageUnavailableError(
                f"The identity service gave no token ({error.__class__.__name__}): try again.",
                outcome_unknown=False,
            ) from error
        return Token(token.token, token.expires_on)

    async def close(self) -> None:
        """Let go of the connections to the identity service."""
        await self._credential.close()
