"""Connections without keys: in Azure with the identity of the app, elsewhere as the one who is signed in there."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from shared.app.connection_settings import StorageConnection
from shared.app.connections import Connections
from shared.app.settings import Settings
from shared.app.world import real_world
from shared.errors import RequestRefusedError
from shared.tables.wire.entra import EntraCredential

if TYPE_CHECKING:
    from pathlib import Path

# What `az account get-access-token` prints.
AZURE_CLI = """\
#!/bin/sh
echo "$*" >> "$0.calls"
echo '{"accessToken": "of a person", "expires_on": EXPIRES, "tokenType": "Bearer"}'
"""


async def token(client_id: str | None = None) -> str:
    """The token that goes with calls to a storage account."""
    (text,) = await tokens(1, client_id)
    return text


async def tokens(clients: int, client_id: str | None = None) -> list[str]:
    """The tokens of so many clients of one process, each closed after its call."""
    endpoints = {"table": "https://shop.table.core.windows.net"}
    connections, found = Connections(Settings(), real_world()), []
    try:
        for _ in range(clients):
            account = connections.account_of(
                StorageConnection("INDEX_STORAGE", endpoints=endpoints, client_id=client_id)
            )
            assert isinstance(account.credential, EntraCredential)
            found.append((await account.credential.token()).text)
            await account.credential.close()
    finally:
        await connections.close_identities()
    return found


@pytest.fixture
def only_the_azure_cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of a person: no identity of Azure's, and nothing but what is in a folder of programs."""
    monkeypatch.delenv("IDENTITY_ENDPOINT", raising=False)
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "AzureCliCredential")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin{os.pathsep}/usr/bin")
    return tmp_path


async def test_on_a_persons_machine_it_is_who_is_signed_in(only_the_azure_cli: Path) -> None:
    """Commands with --azure, and an app that runs there on accounts in Azure."""
    program = only_the_azure_cli / "az"
    program.write_text(AZURE_CLI.replace("EXPIRES", str(int(time.time()) + 3600)))
    program.chmod(0o755)
    assert await token() == "of a person"
    assert "https://storage.azure.com" in (only_the_azure_cli / "az.calls").read_text()


@pytest.mark.usefixtures("only_the_azure_cli")
async def test_without_a_signed_in_person_the_error_says_how_to_sign_in() -> None:
    """Without a sign-in there is nothing to try again."""
    with pytest.raises(RequestRefusedError, match='sign in with "az login"'):
        await token()


async def test_in_azure_it_is_the_identity_of_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    """As App Service gives tokens: from an address in the environment, for the identity with this client id. All
    clients ask once together, also those that live for one call, such as probes."""
    asked: list[dict[str, str]] = []

    async def answer(request: web.Request) -> web.Response:
        assert request.headers["X-IDENTITY-HEADER"] == "secret"
        asked.append(dict(request.query))
        ends = {"expires_on": str(int(time.time()) + 3600), "resource": request.query["resource"]}
        return web.json_response({"access_token": "of the app", "token_type": "Bearer", **ends})

    app = web.Application()
    app.router.add_get("/msi/token", answer)
    async with TestServer(app) as server:
        monkeypatch.setenv("IDENTITY_ENDPOINT", str(server.make_url("/msi/token")))
        monkeypatch.setenv("IDENTITY_HEADER", "secret")
        assert {*await tokens(20, "client-1")} == {"of the app"}
    assert len(asked) == 1
    assert (asked[0]["resource"], asked[0]["client_id"]) == ("https://storage.azure.com", "client-1")
