"""App Service Authentication on one machine: checks tokens in front of the app, and tells it who calls.

Tokens are signed with a key of the run (`index-tables token` makes them), where Azure takes those of Entra ID. A header
that describes a caller and comes from outside is dropped.
"""

from __future__ import annotations

import base64
import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

AUDIENCE = "index-tables"
ISSUER = "index-tables-local"
ALGORITHM = "HS256"
_PRINCIPAL = "X-MS-CLIENT-PRINCIPAL"
_BEARER = "bearer "


class TokenError(Exception):
    """A token that is not taken: expired, of another audience, or not signed with the key of this run."""


@dataclass(frozen=True, slots=True)
class SignIn:
    """Checks the tokens of one run."""

    key: str

    def headers(self, given: Mapping[str, str]) -> dict[str, str]:
        """The headers that the app gets; raises `TokenError`."""
        kept = {name: value for name, value in given.items() if not name.upper().startswith(_PRINCIPAL)}
        offered = next((value for name, value in given.items() if name.lower() == "authorization"), "")
        if not offered.lower().startswith(_BEARER):
            return kept
        return {**kept, _PRINCIPAL: _described(self._claims(offered[len(_BEARER) :].strip()))}

    def _claims(self, token: str) -> dict[str, object]:
        import jwt

        try:
            claims: dict[str, object] = jwt.decode(
                token,
                self.key,
                algorithms=[ALGORITHM],
                audience=AUDIENCE,
                issuer=ISSUER,
                options={"require": ["exp", "aud", "iss"]},
            )
        except jwt.InvalidTokenError as error:
            raise TokenError(str(error)) from error
        return claims


def describes_caller(headers: Mapping[str, str]) -> bool:
    """Whether these headers, which the app gets, say who calls."""
    return _PRINCIPAL in headers


def _described(claims: Mapping[str, object]) -> str:
    """The caller as App Service Authentication describes one."""
    pairs = [{"typ": name, "val": value} for name, given in claims.items() for value in _texts(given)]
    content = {"auth_typ": "aad", "claims": pairs, "name_typ": "name", "role_typ": "roles"}
    return base64.b64encode(json.dumps(content).encode()).decode()


def _texts(value: object) -> Iterable[str]:
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]


def read_or_create(path: Path) -> SignIn:
    """The key that is kept in `path`; a new one the first time."""
    if not path.is_file():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(48))
    return SignIn(path.read_text())
