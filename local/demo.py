"""`demo`: a whole local run with a tour of real requests, which ends by itself."""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp

from local.errors import LocalRunError
from local.folder import DataFolder
from local.up import UpOptions, up

if TYPE_CHECKING:
    from local.lifeline import Stop


@dataclass(frozen=True, slots=True)
class Stage:
    """One request of the tour: what it shows, where it goes and what must come back."""

    title: str
    path: str
    expected_status: int = 200


TOUR = (
    Stage("The function app is alive", "/api/health/live"),
    Stage("It reaches its storage", "/api/health/ready"),
)


async def demo(app_folder: Path, stop: Stop) -> None:
    """Run everything in a folder of its own, take the tour, stop."""
    with tempfile.TemporaryDirectory(prefix="index-tables-demo-") as name:
        folder = DataFolder(Path(name))
        running = asyncio.create_task(up(_options(app_folder, folder.path), stop))
        try:
            await _wait_for_endpoints(folder, running)
            await _tour(json.loads(folder.endpoints.read_text())["http"])
        finally:
            stop.request()
            await running


def _options(app_folder: Path, data_folder: Path) -> UpOptions:
    return UpOptions(app_folder=app_folder, data_folder=data_folder, in_memory=True)


async def _wait_for_endpoints(folder: DataFolder, running: asyncio.Task[None]) -> None:
    while not folder.endpoints.is_file():
        if running.done():
            await running
            raise LocalRunError("The local run was stopped before the tour began.")
        await asyncio.sleep(0.05)


async def _tour(base: str) -> None:
    async with aiohttp.ClientSession(base) as session:
        for stage in TOUR:
            print(f"\n# {stage.title}\n$ curl {base}{stage.path}")
            async with session.get(stage.path) as response:
                print(await response.text(), flush=True)
                if response.status != stage.expected_status:
                    raise LocalRunError(f"{stage.path} answered {response.status}, not {stage.expected_status}.")
    print()
