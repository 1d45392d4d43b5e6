"""A gate in front of a port: bytes pass while it is open; while it is shut every connection is dropped and counted, or
gets no answer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from tests.e2e.proxy import Proxy, copy

_PIECE_BYTES = 1 << 16


@dataclass
class Gate(Proxy):
    """Forwards to `target_port`, unless it is shut."""

    is_open: bool = True
    is_silent: bool = False
    dropped: int = 0
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def shut(self, *, silent: bool = False) -> None:
        """Drop what passes now, and all that comes; or leave all that comes without an answer."""
        self.is_open, self.is_silent = False, silent
        self._loop.call_soon_threadsafe(self.drop_all)

    def open(self) -> None:
        """Let bytes pass again."""
        self.is_open = True

    def drop_all(self) -> None:
        """Drop every connection that bytes pass through."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Let bytes pass, or drop the connection."""
        if not self.is_open:
            self.dropped += 1
            while self.is_silent and await reader.read(_PIECE_BYTES):
                pass
            writer.transport.abort()
            return
        there_reader, there_writer = await self.target()
        both = {writer, there_writer}
        self._writers |= both
        await asyncio.gather(copy(reader, there_writer), copy(there_reader, writer))
        self._writers -= both
