"""A proxy in front of the Table service, in a thread of the test: it may refuse requests instead of forwarding them."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from tests.e2e.proxy import Proxy, copy

_BUSY_BODY = b'{"odata.error":{"code":"ServerBusy","message":{"lang":"en-US","value":"The server is busy."}}}'
_BUSY = b"HTTP/1.1 503 Busy\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(_BUSY_BODY)


@dataclass
class TableProxy(Proxy):
    """Forwards to the Table service on `target_port`.

    Requests are read whole and passed on as they are; answers are not looked at.
    """

    def admits(self) -> bool:
        """Whether the request that has just come in is forwarded."""
        return True

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of a client, with one of its own to the service."""
        service_reader, service_writer = await self.target()
        answering = asyncio.create_task(copy(service_reader, writer))
        try:
            while True:
                request = await _request(reader)
                if self.admits():
                    service_writer.write(request)
                else:
                    writer.write(_BUSY + _BUSY_BODY)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone, or was killed
        finally:
            answering.cancel()
            service_writer.close()
            writer.close()


async def _request(reader: asyncio.StreamReader) -> bytes:
    """One request, whole: its head, and as many bytes as it announces."""
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return head + await reader.readexactly(int(line.partition(b":")[2]))
    return head


@dataclass
class ThrottlingProxy(TableProxy):
    """Says for a while that the service is busy, when it is told to."""

    busy_until: float = 0.0
    busy_answers: int = 0
    requests: int = 0

    def throttle(self, seconds: float) -> None:
        """Refuse every second request for so long: of a transaction, its neighbours or its second attempt."""
        self.busy_until = time.monotonic() + seconds

    def admits(self) -> bool:
        """Counts what it refuses."""
        self.requests += 1
        if time.monotonic() >= self.busy_until or self.requests % 2:
            return True
        self.busy_answers += 1
        return False
