"""Shared access signatures: whether a token is ours, what it opens and until when."""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass
from urllib.parse import unquote_plus, urlsplit

from local.process.errors import LocalAzureError

_PREFIX = "SharedAccessSignature "


class TokenRefusedError(LocalAzureError):
    """A token that opens nothing; its text goes to the client. Check key name, key and clock of the client."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token opens: one hub, or the whole namespace when `hub` is empty."""

    hub: str
    expires_s: int

    def opens(self, hub: str, now_s: float) -> bool:
        """Whether the hub of this name may be used now."""
        return now_s < self.expires_s and self.hub in ("", hub.lower())


@dataclass(frozen=True, slots=True)
class SharedAccessKey:
    """The one key of the local namespace."""

    name: str
    key: str

    def grant(self, token: str, now_s: float) -> Grant:
        """What `token` opens."""
        fields = dict(part.partition("=")[::2] for part in token.removeprefix(_PREFIX).split("&"))
        if not token.startswith(_PREFIX) or not {"sr", "sig", "se", "skn"} <= fields.keys():
            raise TokenRefusedError("The token is not a shared access signature; no other kind is checked locally.")
        if unquote_plus(fields["skn"]) != self.name:
            raise TokenRefusedError(f"There is no shared access key of that name; the local one is {self.name}.")
        if not hmac.compare_digest(self._signature(fields["sr"], fields["se"]), unquote_plus(fields["sig"]).encode()):
            raise TokenRefusedError("The token's signature is wrong; check SharedAccessKey in the connection string.")
        if not fields["se"].isascii() or not fields["se"].isdigit() or int(fields["se"]) <= now_s:
            raise TokenRefusedError("The token has expired; check the clock of the client.")
        return Grant(_hub_of(unquote_plus(fields["sr"])), int(fields["se"]))

    def _signature(self, resource: str, expiry: str) -> bytes:
        # What is signed is the resource as the client escaped it: clients escape differently.
        signed = hmac.new(self.key.encode(), f"{resource}\n{expiry}".encode(), hashlib.sha256)
        return base64.b64encode(signed.digest())


def _hub_of(resource: str) -> str:
    return urlsplit(resource).path.strip("/").partition("/")[0].lower()
