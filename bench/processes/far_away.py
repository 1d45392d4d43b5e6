"""A storage account at a distance: a relay in front of Azurite's tables, through which every request takes a while."""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter
    from collections.abc import AsyncIterator

_TABLES: Final = re.compile(r"(TableEndpoint=http://127\.0\.0\.1:)(\d+)")
_CHUNK: Final = 65_536


@contextlib.asynccontextmanager
async def far_away(connection: str, seconds: float) -> AsyncIterator[str]:
    """The connection string of the same account, as many seconds away, for the length of the block."""
    found = _TABLES.search(connection)
    assert found is not None, connection
    target = int(found[2])

    async def relay(reader: StreamReader, writer: StreamWriter) -> None:
        from_target, to_target = await asyncio.open_connection("127.0.0.1", target)
        await asyncio.gather(_pass_on(reader, to_target, seconds), _pass_on(from_target, writer, 0))

    server = await asyncio.start_server(relay, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        yield _TABLES.sub(rf"\g<1>{port}", connection)


async def _pass_on(reader: StreamReader, writer: StreamWriter, seconds: float) -> None:
    """Every piece so much later, each in its turn; requests of other connections do not wait for it."""
    with contextlib.suppress(ConnectionError), contextlib.closing(writer):
        while piece := await reader.read(_CHUNK):
            await asyncio.sleep(seconds)
            writer.write(piece)
            await writer.drain()
