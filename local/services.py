"""The services of the local run besides the function host: how each is started and when it is ready."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import aiohttp

from local import azurite

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

HOST_PORT = 7071


@dataclass(frozen=True, slots=True)
class Service:
    """A program that listens on loopback: its usual ports and the command for the ports that it gets."""

    name: str
    usual_ports: tuple[int, ...]
    command: Callable[[Sequence[int]], list[str]]


def storage(location: Path | None) -> Service:
    """Azurite, with its data in `location` or in memory."""
    return Service(
        "azurite", (10000, 10001, 10002), lambda ports: azurite.command(azurite.StoragePorts(*ports), location)
    )


async def accepts_connections(port: int) -> bool:
    """Whether something listens on `port`."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True


async def answers(url: str) -> bool:
    """Whether an HTTP server gives a good answer there."""
    try:
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            return response.ok
    except aiohttp.ClientError:
        return False
