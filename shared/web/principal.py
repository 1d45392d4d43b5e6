"""The caller as App Service Authentication describes them, in a header that it sets itself.

It takes that header away from every request that comes from outside, so that only a token that it has checked can put
one there. That holds where it is switched on: the setting ACCESS=entra says that it is.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

HEADER: Final = "x-ms-client-principal"
_ROLES: Final = "roles"
# App Service hands some claims over under the names that they have in older tokens.
_SHORT_NAMES: Final = {
    "http://schemas.microsoft.com/identity/claims/tenantid": "tid",
    "http://schemas.microsoft.com/identity/claims/objectidentifier": "oid",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/nameidentifier": "sub",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress": "email",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/upn": "upn",
    "http://schemas.microsoft.com/ws/2008/06/identity/claims/role": _ROLES,
}


@dataclass(frozen=True, slots=True)
class Principal:
    """The claims of a caller: each with all its values."""

    claims: Mapping[str, tuple[str, ...]]

    @property
    def roles(self) -> frozenset[str]:
        """The app roles that the caller has."""
        return frozenset(self.claims.get(_ROLES, ()))


def read_principal(headers: Mapping[str, str]) -> Principal | None:
    """The caller that the header describes; None without one, or with one that cannot be read."""
    text = next((value for name, value in headers.items() if name.lower() == HEADER), "")
    try:
        content = json.loads(base64.b64decode(text, validate=True))
        given = [(str(claim["typ"]), str(claim["val"])) for claim in content["claims"]]
    except (binascii.Error, ValueError, TypeError, KeyError, RecursionError):
        return None
    own_name = content.get("role_typ")
    claims: dict[str, tuple[str, ...]] = {}
    for name, value in given:
        short = _ROLES if name == own_name else _SHORT_NAMES.get(name, name)
        claims[short] = (*claims.get(short, ()), value)
    return Principal(claims)
