"""A Table service that misbehaves to order: each request gets the next answer of a script."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ETAG = "W/\"datetime'2026-01-01'\""


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back on the connection, which is then closed or kept for the next request."""

    content: bytes
    keeps_open: bool = False


DROPPED = Reply(b"")
SILENT = Reply(b"", keeps_open=True)


def reply(status: int, body: bytes = b"", *headers: str) -> Reply:
    """A well-formed answer."""
    lines = [f"HTTP/1.1 {status} Status", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return Reply("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


def error_body(code: str, message: str = "Sorry.") -> bytes:
    """An error as the Table service writes it."""
    return orjson.dumps({"odata.error": {"code": code, "message": {"lang": "en-US", "value": message}}})


def refused(status: int, code: str, *headers: str) -> Reply:
    """An error answer."""
    return reply(status, error_body(code), *headers)


def kept_open(whole: Reply) -> Reply:
    """An answer after which the connection can be used again."""
    return Reply(whole.content.replace(b"Connection: close\r\n", b""), keeps_open=True)


def half_of(whole: Reply) -> Reply:
    """An answer that breaks off."""
    return Reply(whole.content[:-10])


def batch_reply(*parts: bytes) -> Reply:
    """The answer to a transaction."""
    changes = b"".join(
        b"--changesetresponse_1\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 " + part + b"\r\n" for part in parts
    )
    body = b"--batchresponse_1\r\n\r\n" + changes + b"--changesetresponse_1--\r\n--batchresponse_1--\r\n"
    return reply(202, body, "Content-Type: multipart/mixed; boundary=batchresponse_1")


WRITTEN = batch_reply(f"204 No Content\r\nETag: {ETAG}\r\n\r\n".encode())


def failed_operation(status: int, code: str, index: int = 0) -> Reply:
    """The answer to a transaction in which one operation failed."""
    return batch_reply(f"{status} Status\r\n\r\n".encode() + error_body(code, f"{index}:Sorry."))


@dataclass
class Script:
    """The answers to come, and how many requests came. The last answer is repeated."""

    replies: list[Reply]
    port: int = 0
    requests: int = 0
    connections: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until the script or the client ends it."""
        self.connections += 1
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Read one whole request and answer it; whether the connection stays open."""
        head = await reader.readuntil(b"\r\n\r\n")
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                await reader.readexactly(int(line.partition(b":")[2]))
        answer = self.replies[min(self.requests, len(self.replies) - 1)]
        self.requests += 1
        writer.write(answer.content)
        await writer.drain()
        return answer.keeps_open


@asynccontextmanager
async def misbehaving_service(*replies: Reply) -> AsyncIterator[Script]:
    """A server on a free port of 127.0.0.1 that follows the script."""
    script = Script(list(replies))
    server = await asyncio.start_server(script.serve, "127.0.0.1", 0)
    script.port = server.sockets[0].getsockname()[1]
    try:
        yield script
    finally:
        server.close()
        await server.wait_closed()
