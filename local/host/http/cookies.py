"""Cookies that functions set, as header values."""

from __future__ import annotations

from datetime import datetime
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING

from local.host.messages import SameSite

if TYPE_CHECKING:
    from local.host.messages import RpcHttpCookie

_SAME_SITE = {SameSite.Lax: "Lax", SameSite.Strict: "Strict", SameSite.ExplicitNone: "None"}
_EXPIRES_FORMAT = "%a, %d %b %Y %H:%M:%S GMT"


def cookie_text(cookie: RpcHttpCookie) -> str:
    """The value of a `Set-Cookie` header."""
    jar: SimpleCookie = SimpleCookie({cookie.name: cookie.value})
    written = jar[cookie.name]
    for attribute, given in (("domain", cookie.domain), ("path", cookie.path)):
        written[attribute] = given.value if given is not None else ""
    for attribute, given in (("secure", cookie.secure), ("httponly", cookie.http_only)):
        written[attribute] = given is not None and given.value
    if cookie.max_age is not None:
        written["max-age"] = f"{cookie.max_age.value:g}"
    if cookie.expires is not None:
        # The runtime reads the time as one of the machine's zone; so it is written back in that zone.
        written["expires"] = datetime.fromtimestamp(cookie.expires.value.seconds).strftime(_EXPIRES_FORMAT)  # noqa: DTZ006
    written["samesite"] = _SAME_SITE.get(cookie.same_site, "")
    return written.OutputString()
