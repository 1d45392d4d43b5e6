"""A proxy in front of a port, in a thread of the test: what it does with a connection is for its subclasses to say."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from local.process import ports

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_PIECE_BYTES = 1 << 16


@dataclass
class Proxy:
    """Listens in the place of `target_port` on 127.0.0.1; use it as a context manager."""

    target_port: int
    port: int = field(default_factory=lambda: ports.any_free(1)[0])

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
        server = await asyncio.start_server(self.connected, "127.0.0.1", self.port)
        started.set()
        await self._stop.wait()
        server.close()
        self.drop_all()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of a client."""
        raise NotImplementedError

    def drop_all(self) -> None:
        """Let go of what is left when it ends."""

    async def target(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to what it stands in front of."""
        return await asyncio.open_connection("127.0.0.1", self.target_port)


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass bytes on until one side has gone."""
    with contextlib.suppress(ConnectionError):
        while piece := await reader.read(_PIECE_BYTES):
            writer.write(piece)
            await writer.drain()
    writer.close()
