"""An Azurite of a workload's own: in memory, on free ports of loopback, ended with the block."""

from __future__ import annotations

import asyncio
import subprocess
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bench.errors import BenchError
from local import azurite, ports, services

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

START_SECONDS = 30
_POLL_SECONDS = 0.05


@asynccontextmanager
async def running_azurite() -> AsyncIterator[str]:
    """The connection string of an empty Azurite."""
    its_ports = azurite.StoragePorts(*ports.any_free(3))
    process = await asyncio.create_subprocess_exec(
        *azurite.command(its_ports, None), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    try:
        await _wait_for(its_ports.table)
        yield azurite.connection_string(its_ports)
    finally:
        process.terminate()
        await process.wait()


async def _wait_for(port: int) -> None:
    try:
        async with asyncio.timeout(START_SECONDS):
            while not await services.accepts_connections(port):
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        raise BenchError(f"Azurite did not listen on port {port} within {START_SECONDS} s: start it by hand.") from None
