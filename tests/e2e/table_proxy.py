"""A proxy in front of the Table service, in a thread of the test: it may refuse requests instead of forwarding them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from local import ports

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_BUSY_BODY = b'{"odata.error":{"code":"ServerBusy","message":{"lang":"en-US","value":"The server is busy."}}}'
_BUSY = b"HTTP/1.1 503 Busy\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(_BUSY_BODY)
_CHUNK_BYTES = 1 << 16


@dataclass
class TableProxy:
    """Forwards to the Table service on `target_port`; use it as a context manager.

    Requests are read whole and passed on as they are; answers are not looked at.
    """

    target_port: int
    port: int = field(default_factory=lambda: ports.any_free(1)[0])

    def admits(self) -> bool:
        """Whether the request that has just come in is forwarded."""
        return True

    def __enter__(self) -> Self:
        started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(started)), daemon=True)
        self._thread.start()
        assert started.wait(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def _serve(self, started: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._handle, "127.0.0.1", self.port)
        started.set()
        await self._stop.wait()
        server.close()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of a client, with one of its own to the service."""
        service_reader, service_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        answering = asyncio.create_task(_copy(service_reader, writer))
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


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while content := await reader.read(_CHUNK_BYTES):
            writer.write(content)
            await writer.drain()
    writer.close()


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
