"""A proxy in front of the Table service, in a thread of the test: it may refuse requests instead of forwarding them."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import aiohttp
from aiohttp import web
from yarl import URL

from local import ports

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_HOP_BY_HOP = {"connection", "content-length", "host", "transfer-encoding", "content-encoding"}
_BUSY = '{"odata.error":{"code":"ServerBusy","message":{"lang":"en-US","value":"The server is busy."}}}'


@dataclass
class TableProxy:
    """Forwards to the Table service on `target_port`; use it as a context manager."""

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
        if not self.admits():
            return web.Response(status=503, text=_BUSY, content_type="application/json")
        return await self._forward(request, body)

    async def _forward(self, request: web.Request, body: bytes) -> web.Response:
        url = URL(f"http://127.0.0.1:{self.target_port}{request.raw_path}", encoded=True)
        headers = {name: text for name, text in request.headers.items() if name.lower() not in _HOP_BY_HOP}
        async with self._session.request(request.method, url, data=body or None, headers=headers) as answer:
            content = await answer.read()
            kept = {name: text for name, text in answer.headers.items() if name.lower() not in _HOP_BY_HOP}
            return web.Response(status=answer.status, body=content, headers=kept)


@dataclass
class ThrottlingProxy(TableProxy):
    """Says that the service is busy, as often as it is told to."""

    busy_answers_left: int = 0
    busy_answers: int = 0

    def throttle(self, times: int) -> None:
        """Refuse the next requests."""
        self.busy_answers_left = times

    def admits(self) -> bool:
        """Counts down."""
        if self.busy_answers_left <= 0:
            return True
        self.busy_answers_left -= 1
        self.busy_answers += 1
        return False
