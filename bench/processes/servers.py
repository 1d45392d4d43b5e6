"""Servers in processes of their own, so that a workload's client and server do not share an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from bench.errors import BenchError
from local.emulators.cosmos.http.options import EMULATOR_KEY
from local.process import ports
from local.run import azurite

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

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
async def host_serving(settings: Mapping[str, str]) -> AsyncIterator[tuple[str, Process]]:
    """The project's function app with its triggers for the length of the block; its base address and its process."""
    (port,) = ports.any_free(1)
    command = [sys.executable, "-m", "local", "host", "--port", str(port)]
    async with _serving(port, "the host", command, settings) as process:
        yield f"http://127.0.0.1:{port}", process


@contextlib.asynccontextmanager
async def azurite_serving() -> AsyncIterator[str]:
    """An empty Azurite in memory for the length of the block; gives its connection string."""
    async with azurite_process() as (connection_string, _):
        yield connection_string


@contextlib.asynccontextmanager
async def azurite_process() -> AsyncIterator[tuple[str, Process]]:
    """The same, with its process."""
    storage_ports = azurite.StoragePorts(*ports.any_free(3))
    async with _serving(storage_ports.table, "Azurite", azurite.command(storage_ports, None), {}) as process:
        yield azurite.connection_string(storage_ports), process


@contextlib.contextmanager
def frozen(*processes: Process) -> Iterator[None]:
    """Processes that do nothing for the length of the block: neither answer nor refuse, as in the worst outage."""
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGCONT)


@contextlib.asynccontextmanager
async def cosmos_endpoint(folder: str) -> AsyncIterator[str]:
    """A local Cosmos DB with its data in `folder` for the length of the block; gives its address."""
    (port,) = ports.any_free(1)
    async with module_serving(port, "local", "cosmos", "--port", str(port), "--data", folder) as endpoint:
        yield endpoint


@contextlib.asynccontextmanager
async def cosmos_serving(folder: str) -> AsyncIterator[CosmosClient]:
    """The same; gives a client of it."""
    from azure.cosmos.aio import CosmosClient

    async with cosmos_endpoint(folder) as endpoint, CosmosClient(endpoint, EMULATOR_KEY) as client:
        yield client


@contextlib.asynccontextmanager
async def _serving(port: int, name: str, command: Sequence[str], settings: Mapping[str, str]) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        *command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env={**os.environ, **settings}
    )
    try:
        await _wait_until_listening(process, port, name)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def _wait_until_listening(process: Process, port: int, name: str) -> None:
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
