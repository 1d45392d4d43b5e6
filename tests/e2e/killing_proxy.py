"""A proxy in front of the Table service that kills a process when its n-th request comes by.

The request is either never forwarded, or forwarded with nobody left to hear the answer: both are ways to die.
"""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import aiohttp
from aiohttp import web

from local import ports

if TYPE_CHECKING:
    import subprocess
    from types import TracebackType
    from typing import Self

_HOP_BY_HOP = {"connection", "content-length", "host", "transfer-encoding", "content-encoding"}


@dataclass
class KillingProxy:
    """Forwards to the Table service on `target_port`; use it as a context manager."""

    target_port: int
    port: int = field(default_factory=lambda: ports.any_free(1)[0])
    victim: subprocess.Popen[bytes] | None = None
    kill_at: int = 0
    forwards_last: bool = False
    count: int = 0

    def arm(self, victim: subprocess.Popen[bytes] | None, kill_at: int, *, forwards_last: bool) -> None:
        """Count from the beginning, and kill at this request."""
        self.count, self.victim, self.kill_at, self.forwards_last = 0, victim, kill_at, forwards_last

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
        application = web.Application(client_max_size=8 << 20)
        application.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.port).start()
        async with aiohttp.ClientSession(auto_decompress=False) as self._session:
            started.set()
            await self._stop.wait()
            await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.count += 1
        is_last = self.victim is not None and self.count >= self.kill_at
        if is_last and self.victim is not None:
            self.victim.kill()
            if not (self.forwards_last and self.count == self.kill_at):
                raise web.HTTPServiceUnavailable
        return await self._forward(request, body)

    async def _forward(self, request: web.Request, body: bytes) -> web.Response:
        from yarl import URL

        url = URL(f"http://127.0.0.1:{self.target_port}{request.raw_path}", encoded=True)
        headers = {name: text for name, text in request.headers.items() if name.lower() not in _HOP_BY_HOP}
        async with self._session.request(request.method, url, data=body or None, headers=headers) as answer:
            content = await answer.read()
            kept = {name: text for name, text in answer.headers.items() if name.lower() not in _HOP_BY_HOP}
            return web.Response(status=answer.status, body=content, headers=kept)
