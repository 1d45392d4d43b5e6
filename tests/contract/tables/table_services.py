"""The Table services that the contract suites run on: in memory, and Azurite with a key or with tokens."""

from __future__ import annotations

import asyncio
import random
import ssl
import time
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING

import orjson
import trustme

from local.run import azurite as azurite_program
from shared.tables.client import TableClient
from shared.tables.retry import Timing
from shared.tables.wire.account import Account
from shared.tables.wire.sign import Token
from shared.tables.wire.transport import Wire

if TYPE_CHECKING:
    from pathlib import Path

TIMING = Timing(time.time, time.monotonic, asyncio.sleep, random.random)


class SelfMadeCredential:
    """Tokens that Azurite's basic level takes: right issuer, audience and times, and no signature."""

    def __init__(self, audience: str = "https://storage.azure.com") -> None:
        self._audience = audience
        self.fetched = 0

    async def token(self) -> Token:
        """A token for an hour."""
        self.fetched += 1
        now = int(time.time())
        claims = {
            "aud": self._audience,
            "iss": "https://sts.windows.net/00000000-0000-0000-0000-000000000000/",
            "iat": now,
            "nbf": now - 60,
            "exp": now + 3600,
        }
        text = ".".join(_base64(orjson.dumps(part)) for part in ({"alg": "none", "typ": "JWT"}, claims))
        return Token(f"{text}.{_base64(b'unsigned')}", now + 3600)


def _base64(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode("ascii").rstrip("=")


def make_certificate(folder: Path) -> tuple[azurite_program.Tls, ssl.SSLContext]:
    """A certificate for 127.0.0.1, and a context that trusts nobody else."""
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    tls = azurite_program.Tls(folder / "certificate.pem", folder / "key.pem")
    issued.cert_chain_pems[0].write_to_path(tls.certificate)
    issued.private_key_pem.write_to_path(tls.key)
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return tls, context


def key_client(connection_string: str) -> TableClient:
    """The wire client with the account's key."""
    return TableClient(Account.from_connection_string(connection_string), TIMING)


def token_client(
    ports: azurite_program.StoragePorts, context: ssl.SSLContext, credential: SelfMadeCredential
) -> TableClient:
    """The wire client with tokens, over https."""
    endpoint = f"https://127.0.0.1:{ports.table}/{azurite_program.ACCOUNT}"
    account = Account.with_credential(endpoint, credential)
    return TableClient(account, TIMING, wire=Wire(ssl_context=context))
