"""Entra tokens: fetched once, kept until shortly before they end, and refused when they are wrong."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError, ServiceRequestError

from shared.errors import RequestRefusedError, SettingError, StorageUnavailableError
from shared.tables.client import TableClient
from shared.tables.wire.account import Account
from shared.tables.wire.entra import SCOPE, EntraCredential
from shared.tables.wire.sign import REFRESH_SECONDS, Token, TokenSigner
from shared.tables.wire.transport import Wire
from tests.contract.tables.table_services import TIMING, SelfMadeCredential, token_client

if TYPE_CHECKING:
    import ssl

    from local.run.azurite import StoragePorts

Secure = tuple["StoragePorts", "ssl.SSLContext"]


async def test_many_calls_share_one_token(secure_azurite: Secure, table_name: str) -> None:
    """Also when they all start before there is a token."""
    credential = SelfMadeCredential()
    async with token_client(*secure_azurite, credential) as client:
        await client.create_table(table_name)
        await asyncio.gather(*(client.get(table_name, "p", str(n)) for n in range(20)))
    assert credential.fetched == 1


async def test_a_token_for_somebody_else_is_refused(secure_azurite: Secure, table_name: str) -> None:
    """The service's no is final: it is not tried again."""
    async with token_client(*secure_azurite, SelfMadeCredential("https://example.com")) as client:
        with pytest.raises(RequestRefusedError, match="403"):
            await client.get(table_name, "p", "r")
        assert client.counts.total() == 1


async def test_a_certificate_that_nobody_vouches_for_is_refused(secure_azurite: Secure, table_name: str) -> None:
    """No token goes to a server that cannot prove its name."""
    ports, _ = secure_azurite
    account = Account.with_credential(f"https://127.0.0.1:{ports.table}/a", SelfMadeCredential())
    async with TableClient(account, TIMING, wire=Wire()) as client:
        with pytest.raises(RequestRefusedError, match="certificate"):
            await client.get(table_name, "p", "r")


def test_a_token_never_travels_in_the_clear() -> None:
    """An http endpoint is refused when the account is described, before any call."""
    with pytest.raises(SettingError, match="https"):
        Account.with_credential("http://127.0.0.1:10002/a", SelfMadeCredential())


async def test_a_token_is_replaced_before_it_ends() -> None:
    """It is used until five minutes before its end."""
    now = 1_000_000.0
    ends_at = now + 3600

    class Counting:
        fetched = 0

        async def token(self) -> Token:
            self.fetched += 1
            return Token(f"token {self.fetched}", ends_at)

    signer = TokenSigner(Counting(), lambda: now)
    assert (await signer.headers("/"))["Authorization"] == "Bearer token 1"
    now = ends_at - REFRESH_SECONDS - 1
    assert (await signer.headers("/"))["Authorization"] == "Bearer token 1"
    now = ends_at - REFRESH_SECONDS
    assert (await signer.headers("/"))["Authorization"] == "Bearer token 2"


@dataclass
class FromAzureIdentity:
    """A credential with the shape of azure-identity's."""

    outcome: AccessToken | Exception
    closed: bool = False

    async def get_token(self, *scopes: str) -> AccessToken:
        assert scopes == (SCOPE,)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    async def close(self) -> None:
        self.closed = True


async def test_tokens_come_from_azure_identity() -> None:
    """The adapter asks for Azure Storage and keeps the time at which the token ends."""
    inner = FromAzureIdentity(AccessToken("text", 1234))
    credential = EntraCredential(inner)
    assert await credential.token() == Token("text", 1234)
    await credential.close()
    assert inner.closed


async def test_no_identity_is_permanent_and_no_answer_is_transient() -> None:
    """Errors that the operator must fix differ from transient ones."""
    with pytest.raises(RequestRefusedError, match="managed identity"):
        await EntraCredential(FromAzureIdentity(ClientAuthenticationError("no"))).token()
    with pytest.raises(StorageUnavailableError, match="try again"):
        await EntraCredential(FromAzureIdentity(ServiceRequestError("no"))).token()
