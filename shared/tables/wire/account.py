"""Which storage account to call, and as whom.

Read from a connection string with an account key, or made from an endpoint and a credential.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from shared.errors import SettingError

if TYPE_CHECKING:
    from shared.tables.wire.sign import Credential

# Published by Microsoft for every storage emulator; not a secret.
_EMULATOR: Final = {
    "AccountName": "devstoreaccount1",
    "AccountKey": "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
    "TableEndpoint": "http://127.0.0.1:10002/devstoreaccount1",
}
_SECONDARY: Final = "-secondary"


@dataclass(frozen=True, slots=True)
class Account:
    """A storage account's Table service and what proves that we may call it: a key or a credential."""

    name: str
    endpoint: str
    key: str | None = field(default=None, repr=False)
    credential: Credential | None = None
    secondary_endpoint: str | None = None

    @classmethod
    def from_connection_string(cls, text: str) -> Account:
        """The account of a storage connection string with an account key."""
        parts = _parts(text)
        if parts.get("UseDevelopmentStorage", "").lower() == "true":
            parts = _EMULATOR
        name, key = (_required(parts, part) for part in ("AccountName", "AccountKey"))
        scheme = parts.get("DefaultEndpointsProtocol", "https")
        suffix = parts.get("EndpointSuffix", "core.windows.net")
        endpoint = parts.get("TableEndpoint") or f"{scheme}://{name}.table.{suffix}"
        secondary = parts.get("TableSecondaryEndpoint")
        return cls(name, _checked(endpoint), key=key, secondary_endpoint=_checked(secondary) if secondary else None)

    @classmethod
    def with_credential(cls, endpoint: str, credential: Credential) -> Account:
        """The account at this Table endpoint, called with tokens. A token is never sent over plain HTTP."""
        endpoint = _checked(endpoint)
        if urlsplit(endpoint).scheme != "https":
            raise SettingError(f"The Table endpoint {endpoint} is not https: tokens need https.")
        return cls(str(urlsplit(endpoint).hostname), endpoint, credential=credential)

    def secondary(self) -> Account:
        """The same account at its secondary endpoint, which serves reads when it is geo-redundant (RA-GRS)."""
        return replace(self, endpoint=self.secondary_endpoint or _secondary(self.endpoint))


def _secondary(endpoint: str) -> str:
    """The account's name, which is the host's first label or an emulator's path, followed by `-secondary`."""
    address = urlsplit(endpoint)
    if address.path:
        return endpoint + _SECONDARY
    account, dot, domain = address.netloc.partition(".")
    return address._replace(netloc=account + _SECONDARY + dot + domain).geturl()


def _parts(text: str) -> dict[str, str]:
    """The pieces of a connection string. A fault never repeats the text, which holds a key."""
    pieces = [piece.strip().partition("=") for piece in text.split(";") if piece.strip()]
    if not pieces or not all(equals for _, equals, _ in pieces):
        raise SettingError("A storage connection string is not a list of name=value: copy the whole string again.")
    return {name: value for name, _, value in pieces}


def _required(parts: dict[str, str], name: str) -> str:
    if not parts.get(name):
        raise SettingError(
            f"A storage connection string has no {name}: use one with an account key, or set an account "
            "name to use an identity."
        )
    return parts[name]


def _checked(endpoint: str) -> str:
    address = urlsplit(endpoint)
    if address.scheme not in {"http", "https"} or not address.netloc or address.query:
        raise SettingError(
            f"{endpoint!r} is not a Table endpoint: it looks like https://ACCOUNT.table.core.windows.net."
        )
    return endpoint.rstrip("/")
