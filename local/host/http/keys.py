"""Function keys: who may call which HTTP function when keys are checked."""

from __future__ import annotations

import hmac
import json
import secrets
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HEADER = "x-functions-key"
PARAMETER = "code"


@dataclass(frozen=True, slots=True)
class Keys:
    """The two keys of the local host: one for functions, one for administration."""

    function: str
    admin: str

    def admits(self, auth_level: str, headers: Mapping[str, str], query: Mapping[str, str]) -> bool:
        """Whether a request may call a function of this authorization level."""
        if auth_level.upper() == "ANONYMOUS":
            return True
        offered = headers.get(HEADER) or query.get(PARAMETER) or ""
        accepted = (self.admin,) if auth_level.upper() == "ADMIN" else (self.function, self.admin)
        return any(hmac.compare_digest(offered.encode(), key.encode()) for key in accepted)


def read_or_create(path: Path) -> Keys:
    """The keys kept in `path`; new ones the first time."""
    if path.is_file():
        return Keys(**json.loads(path.read_text()))
    keys = Keys(function=secrets.token_urlsafe(32), admin=secrets.token_urlsafe(32))
    path.touch(mode=0o600)
    path.write_text(json.dumps(asdict(keys)))
    return keys
