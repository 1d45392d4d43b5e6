"""A Table service over TLS on this machine that takes as long as one in Azure, and counts connections."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiohttp import web
from aiohttp.test_utils import TestServer

from shared.app.world import TIMING
from shared.tables.client import TableClient
from shared.tables.limiter.calls import Priority
from shared.tables.wire.account import Account
from shared.tables.wire.transport import Wire

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_KEY = "bm8gc2VjcmV0"


@dataclass(slots=True)
class DistantServer:
    """It has no rows. `tables` is the product's own client, with its own idea of how long connections are kept."""

    seconds: float
    tables: TableClient = field(init=False)
    connections: list[object] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        """No rows, after a while."""
        if request.transport not in self.connections:
            self.connections.append(request.transport)
        await asyncio.sleep(self.seconds)
        return web.json_response({"value": []})


@asynccontextmanager
async def distant_server(seconds: float) -> AsyncIterator[DistantServer]:
    """A server whose calls take so long."""
    import trustme  # of the tools for tests: everything else here does without them

    authority = trustme.CA()
    served, trusted = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(served)
    authority.configure_trust(trusted)
    distant = DistantServer(seconds)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", distant.answer)
    server = TestServer(app)
    await server.start_server(ssl=served)
    account = Account("distant", f"https://127.0.0.1:{server.port}/distant", _KEY)
    async with TableClient(account, TIMING, wire=Wire(ssl_context=trusted), priority=Priority.CALLER) as tables:
        distant.tables = tables
        yield distant
    await server.close()
