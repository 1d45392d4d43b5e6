"""Servers in processes of their own, so that a workload's client and server do not share an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from bench.errors import BenchError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

READY_SECONDS = 30.0
_POLL_SECONDS = 0.05


@contextlib.asynccontextmanager
async def module_serving(
    port: int, module: str, *arguments: str, settings: Mapping[str, str] | None = None
) -> AsyncIterator[str]:
    """`python -m module …` for the length of the block, once it listens on `port`; gives its base address."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments,
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env={**os.environ, **(settings or {})},
    )  # fmt: skip
    try:
        await _wait_until_listening(process, port, module)
        yield f"http://127.0.0.1:{port}"
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def _wait_until_listening(process: asyncio.subprocess.Process, port: int, module: str) -> None:
    async with asyncio.timeout(READY_SECONDS):
        while process.returncode is None:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(_POLL_SECONDS)
            else:
                writer.close()
                return
    raise BenchError(
        f"{module} ended with exit code {process.returncode} before it listened; run it by hand to see why."
    )
