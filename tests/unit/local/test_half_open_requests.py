"""The HTTP server of the local host gives up on requests that do not come whole."""

from __future__ import annotations

import asyncio

import pytest

from local.host.http.origins import Origins
from local.host.http.routes import RouteTable
from local.host.http.server import Patience, serving
from local.host.http.trigger import HttpTrigger
from local.host.invoker import Invoker
from local.host.runtime import Function, Runtime
from local.process import ports
from local.process.lifeline import Stop

ECHO = Function("echo", "echo", {"type": "httpTrigger", "name": "req", "route": "echo"}, [], None)
SHORT = Patience(headers_seconds=0.3, body_seconds=0.3, lingering_seconds=0.1)
DEADLINE_SECONDS = 10


async def answered(octets: bytes) -> bytes:
    """What a server with little patience answers to these bytes before it closes the connection."""
    (port,) = ports.any_free(1)
    trigger = HttpTrigger(RouteTable([ECHO], "api"), Invoker(Runtime([ECHO]), None, Stop()), None, Origins())
    async with serving(trigger, port, SHORT):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(octets)
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                return await reader.read()
        finally:
            writer.close()


@pytest.mark.parametrize("octets", [b"", b"GET /api/echo HT", b"GET /api/echo HTTP/1.1\r\nHost: 127.0.0.1\r\n"])
async def test_a_connection_without_a_whole_request_is_closed(octets: bytes) -> None:
    """Whatever of its headers has come."""
    assert await answered(octets) == b""


async def test_a_request_whose_body_does_not_come_is_answered_with_408() -> None:
    """And the connection is closed: what follows would be taken for a request."""
    answer = await answered(b"POST /api/echo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\nhalf")
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in answer.lower()


async def test_a_connection_that_was_served_is_kept_longer() -> None:
    """A client may use it again."""
    (port,) = ports.any_free(1)
    trigger = HttpTrigger(RouteTable([], "api"), Invoker(Runtime([]), None, Stop()), None, Origins())
    async with serving(trigger, port, SHORT):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2):
            writer.write(b"GET /api/none HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert b" 404 " in await reader.readuntil(b"\r\n\r\n")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(reader.read(1), 2 * SHORT.headers_seconds)
        writer.close()
