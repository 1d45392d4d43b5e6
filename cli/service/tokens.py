"""Tokens for a local run with `--auth entra`: signed with a key of that run, where Azure has Entra ID."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from shared.definitions.access import OPERATOR, READER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LIFETIME_SECONDS: Final = 3600
# The roles of a call without a token of its own, by the kind of key that it would need.
ROLES_OF: Final = {"function": (READER,), "admin": (READER, OPERATOR)}


def new_token(
    sign_in: tuple[str, str, str], roles: Sequence[str], claims: Mapping[str, Any], expires_seconds: int
) -> str:
    """A token with these roles and claims; a claim may take the place of one that every token has."""
    import jwt

    key, audience, issuer = sign_in
    content = {
        "aud": audience,
        "iss": issuer,
        "sub": "local",
        "roles": list(roles),
        "exp": int(time.time()) + expires_seconds,
        **claims,
    }
    return jwt.encode(content, key, algorithm="HS256")
