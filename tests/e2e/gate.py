"""A gate in front of a port: bytes pass while it is open; while it is shut every connection is dropped and counted."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from local import ports

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_PIECE_BYTES = 65536


@dataclass
class Gate:
    """Forwards to `target_port` on 127.0.0.1; use it as a context manager."""

    target_port: int
    port: int = field(default_factory=lambda: ports.any_free(1)[0])
    is_open: bool = True
    dropped: int = 0
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def shut(self) -> None:
        """Drop what passes now, and all that comes."""
        self.is_open = False
        self._loop.call_soon_threadsafe(self._drop_all)

    def open(self) -> None:
        """Let bytes pass again."""
        self.is_open = True

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
        server = await asyncio.start_server(self._pass, "127.0.0.1", self.port)
        started.set()
        await self._stop.wait()
        server.close()
        self._drop_all()

    def _drop_all(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self.is_open:
            self.dropped += 1
            writer.transport.abort()
            return
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        both = {writer, there_writer}
        self._writers |= both
        await asyncio.gather(_copy(reader, there_writer), _copy(there_reader, writer))
        self._writers -= both


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(_PIECE_BYTES):
            writer.write(piece)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()
