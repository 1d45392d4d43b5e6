"""Sends one signed request over a pool of connections and gives back the whole answer, or a typed error.

Owns the connections and what their failures mean: a request that was never sent cannot have landed, any
other may have.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from shared.errors import RequestRefusedError, StorageUnavailableError
from shared.tables.wire.answers import TableAnswer

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

    from shared.tables.clock import ServiceClock
    from shared.tables.wire.sign import Signer

# The first version that takes Entra tokens for tables.
API_VERSION: Final = "2020-12-06"
_COMMON_HEADERS: Final = {
    "x-ms-version": API_VERSION,
    "DataServiceVersion": "3.0",
    # Without types, an Edm.Int64 would come back as text, and rows of a query without their ETags.
    "Accept": "application/json;odata=minimalmetadata",
    "User-Agent": "index-tables",
}
_NO_AUTOMATIC_HEADERS: Final = ("Accept-Encoding",)


# Over this, aiohttp wants to read the body in pieces, so that sending it does not block the event loop.
_LARGE_BODY_BYTES: Final = 1024 * 1024

# Azure drops an idle connection without a word after four minutes (the idle timeout of its outbound flows), and a
# lookup on a connection that was closed pays a TLS handshake. Plain HTTP is an emulator: Azurite closes an idle
# connection after 5 s.
_KEEP_ALIVE_SECONDS: Final = 120.0
_LOCAL_KEEP_ALIVE_SECONDS: Final = 4.0


@dataclass(frozen=True, slots=True)
class Wire:
    """How connections are used. `keep_alive_seconds` by default depends on the endpoint."""

    keep_alive_seconds: float | None = None
    connect_seconds: float = 5
    answer_seconds: float = 20
    ssl_context: ssl.SSLContext | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One request, without what signs it. The path is percent-encoded and may have a query."""

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


class Transport:
    """The connections to one account's Table service."""

    def __init__(self, endpoint: str, signer: Signer, wire: Wire, clock: ServiceClock) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._base_path = urlsplit(endpoint).path
        self._signer = signer
        self._wire = wire
        self._session: aiohttp.ClientSession | None = None

    async def send(self, request: Request, within_seconds: float) -> TableAnswer:
        """The answer to one request, whatever its status."""
        signed = await self._signer.headers(self._base_path + request.path.partition("?")[0])
        try:
            async with self._open().request(
                request.method,
                URL(self._endpoint + request.path, encoded=True),
                data=_sendable(request.body),
                headers={**request.headers, **signed},
                allow_redirects=False,
                timeout=self._timeout(within_seconds),
            ) as response:
                self._clock.hear(response.headers.get("Date"))
                return TableAnswer(response.status, response.headers, await response.read())
        except aiohttp.ClientConnectorCertificateError as error:
            raise RequestRefusedError(
                f"The certificate of {self._endpoint} is not trusted: check its name and certificate."
            ) from error
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise self._unavailable("cannot be reached", error, outcome_unknown=False) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unavailable("gave no whole answer", error, outcome_unknown=True) from error

    async def close(self) -> None:
        """Close the connections; the next request would open new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open(self) -> aiohttp.ClientSession:
        """The session, opened by the first request, because it belongs to the event loop that runs then."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    # As many as the calls that the account's gate lets out: a limit here would be a queue that
                    # the limiter takes for latency.
                    limit=0,
                    keepalive_timeout=self._keep_alive_seconds(),
                    ssl=self._wire.ssl_context or True,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=_COMMON_HEADERS,
                skip_auto_headers=_NO_AUTOMATIC_HEADERS,
            )
        return self._session

    def _keep_alive_seconds(self) -> float:
        if self._wire.keep_alive_seconds is not None:
            return self._wire.keep_alive_seconds
        return _KEEP_ALIVE_SECONDS if urlsplit(self._endpoint).scheme == "https" else _LOCAL_KEEP_ALIVE_SECONDS

    def _timeout(self, within_seconds: float) -> aiohttp.ClientTimeout:
        return aiohttp.ClientTimeout(
            total=max(0.001, min(self._wire.answer_seconds, within_seconds)),
            sock_connect=self._wire.connect_seconds,
        )

    def _unavailable(self, what: str, error: Exception, *, outcome_unknown: bool) -> StorageUnavailableError:
        return StorageUnavailableError(
            f"The Table service at {self._endpoint} {what} ({error.__class__.__name__}): try again later.",
            outcome_unknown=outcome_unknown,
        )


def _sendable(body: bytes | None) -> bytes | BytesIO | None:
    return BytesIO(body) if body is not None and len(body) > _LARGE_BODY_BYTES else body
