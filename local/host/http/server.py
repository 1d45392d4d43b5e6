"""The HTTP server around the triggers: where it listens, and how long it waits for a request that is not whole."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiohttp import web

from local.process.errors import LocalRunError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from local.host.http.trigger import HttpTrigger

# How long running functions may take to end when the host stops; what is left is cut off and delivered again.
GRACE_SECONDS = 20.0
# aiohttp's own limit is shorter, and then aiohttp answers instead of the app: the function must be able to refuse.
REQUEST_LINE_BYTES_MAX = 64 * 1024


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a client may take, so that half-open requests do not pile up; 30 s for headers is Kestrel's limit."""

    headers_seconds: float = 30.0
    body_seconds: float = 60.0
    keepalive_seconds: float = 75.0
    # For the rest of a body that was refused, so that the client reads the answer before the connection ends.
    lingering_seconds: float = 10.0


@contextlib.asynccontextmanager
async def serving(trigger: HttpTrigger, port: int, patience: Patience) -> AsyncIterator[None]:
    """Serve while the block runs."""
    runner = web.AppRunner(
        trigger.application(patience.body_seconds),
        access_log=None,
        shutdown_timeout=GRACE_SECONDS,
        max_line_size=REQUEST_LINE_BYTES_MAX,
        keepalive_timeout=patience.keepalive_seconds,
        lingering_time=patience.lingering_seconds,
    )
    await runner.setup()
    watching = asyncio.create_task(_close_half_open(runner, trigger, patience.headers_seconds))
    try:
        await _bind(runner, port)
        yield
    finally:
        watching.cancel()
        await runner.cleanup()


async def _bind(runner: web.AppRunner, port: int) -> None:
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
    except OSError as error:
        raise LocalRunError(f"Port {port} is taken ({error.strerror}); choose another with --port.") from None


async def _close_half_open(runner: web.AppRunner, trigger: HttpTrigger, seconds: float) -> None:
    """Close connections whose first request has not come whole in time; aiohttp itself ends idle ones later."""
    now = asyncio.get_running_loop().time
    since: dict[object, float] = {}
    while True:
        await asyncio.sleep(seconds / 10)
        connections = runner.server.connections if runner.server is not None else []
        trigger.served.intersection_update(connections)
        silent = [connection for connection in connections if connection not in trigger.served]
        since = {connection: since.get(connection, now()) for connection in silent}
        for connection in silent:
            if now() - since[connection] >= seconds and connection.transport is not None:
                connection.transport.close()
