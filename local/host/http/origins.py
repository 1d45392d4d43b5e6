"""Which callers a host without keys listens to: programs on this machine, its own pages, and pages that are allowed.

A web page of any site can send requests to 127.0.0.1, and one whose name was rebound to it can read the answers.
Without function keys nothing else stands between such a page and the functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

CORS_SETTING = "LOCAL_CORS"
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins of pages that may call, beside the host's own; `*` stands for all."""

    allowed: frozenset[str] = frozenset()

    @classmethod
    def from_settings(cls, settings: Mapping[str, str]) -> Origins:
        """Read the setting, origins with commas between them."""
        texts = (text.strip().rstrip("/") for text in settings.get(CORS_SETTING, "").split(","))
        return cls(frozenset(text for text in texts if text))

    def may_share(self, origin: str | None) -> bool:
        """Whether pages of this origin may read answers."""
        return origin is not None and ("*" in self.allowed or origin in self.allowed)

    def refusal(self, scheme: str, host: str, origin: str | None) -> str | None:
        """Why a request with these headers is not served; none if it is."""
        if _name_in(host) not in _LOOPBACK:
            return f"The host {host!r} is not this machine: call 127.0.0.1 or localhost, or start with --auth."
        if origin is None or origin == f"{scheme}://{host}" or self.may_share(origin):
            return None
        return f"Pages of {origin} may not call: name them in the setting {CORS_SETTING}, or start with --auth."

    def headers(self, request_headers: Mapping[str, str]) -> dict[str, str]:
        """What lets the page behind a request read its answer; empty if it may not."""
        origin = request_headers.get("Origin")
        if origin is None or not self.may_share(origin):
            return {}
        shared = {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}
        for asked, answered in (("Method", "Methods"), ("Headers", "Headers")):
            value = request_headers.get(f"Access-Control-Request-{asked}")
            if value:
                shared[f"Access-Control-Allow-{answered}"] = value
        return shared


def _name_in(host: str) -> str | None:
    """The name in a `Host` header; none if there is none to be read."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None
