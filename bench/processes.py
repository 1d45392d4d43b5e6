"""Servers in processes of their own, so that a workload's client and server do not share an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from bench.errors import BenchError
from local import azurite, ports
from local.cosmos.options import EMULATOR_KEY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from azure.cosmos.aio import CosmosClient

READY_SECONDS = 30.0
_POLL_SECONDS = 0.05


@contextlib.asynccontextmanager
async def module_serving(
    port: int, module: str, *arguments: str, settings: Mapping[str, str] | None = None
) -> AsyncIterator[str]:
    """`python -m module …` for the length of the block, once it listens on `port`; gives its base address."""
    async with _serving(port, module, [sys.executable, "-m", module, *arguments], settings or {}):
        yield f"http://127.0.0.1:{port}"


@contextlib.asynccontextmanager
async def azurite_serving() -> AsyncIterator[str]:
    """An empty Azurite in memory for the length of the block; gives its connection string."""
    storage_ports = azurite.StoragePorts(*ports.any_free(3))
    async with _serving(storage_ports.table, "Azurite", azurite.command(storage_ports, None), {}):
        yield azurite.connection_string(storage_ports)


@contextlib.asynccontextmanager
async def cosmos_serving(folder: str) -> AsyncIterator[CosmosClient]:
    """A local Cosmos DB with its data in `folder` for the length of the block; gives a client of it."""
    from azure.cosmos.aio import CosmosClient

    (port,) = ports.any_free(1)
    async with (
        module_serving(port, "local", "cosmos", "--port", str(port), "--data", folder) as endpoint,
        CosmosClient(endpoint, EMULATOR_KEY) as client,
    ):
        yield client


@contextlib.asynccontextmanager
async def _serving(port: int, name: str, command: Sequence[str], settings: Mapping[str, str]) -> AsyncIterator[None]:
    process = await asyncio.create_subprocess_exec(
        *command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env={**os.environ, **settings}
    )
    try:
        await _wait_until_listening(process, port, name)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def _wait_until_listening(process: asyncio.subprocess.Process, port: int, name: str) -> None:
    async with asyncio.timeout(READY_SECONDS):
        while process.returncode is None:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(_POLL_SECONDS)
            else:
                writer.close()
                return
    raise BenchError(f"{name} ended with exit code {process.returncode} before it listened; run it by hand to see why.")
