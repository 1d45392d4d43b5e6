"""Builds in this process instead of the app, in the same slices; also from a file of events."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import TYPE_CHECKING, Final

from cli.definitions import definitions_file, read
from cli.errors import UsageError
from cli.local_run import local_run
from cli.progress import show_line
from cli.service.builds import BuildProgress
from cli.sources.connections import run_to_end
from cli.sources.event_files import EventFile
from shared.app import settings

if TYPE_CHECKING:
    from pathlib import Path

    from cli.arguments import Arguments
    from shared.definitions.model import Definitions, Index
    from shared.lifecycle.generations import GenerationLifecycle
    from shared.web.api.lifecycle import IndexStateJson

# The app does not know this kind of task and does not work on it.
FROM_HERE: Final = "build-here"
# Short slices, so that the progress shows.
_SLICE_SECONDS: Final = 5.0
_SLICES_AT_ONCE: Final = 4
_WAIT_SECONDS: Final = 1.0


def build_here(args: Arguments) -> IndexStateJson:
    """Build an index; its state after that."""
    return run_to_end(_build(args))


def _settings(args: Arguments) -> dict[str, str]:
    """The settings for a local run's services; for Azure the environment has them."""
    if args.azure:
        return {}
    run = local_run(args.data)
    storage = run.text("storage", "connectionString")
    return {
        "AzureWebJobsStorage": storage,
        "INDEX_STORAGE": storage,
        "COSMOS": run.cosmos_connection_string(),
        "EVENTHUB": run.text("eventHubs", "connectionString"),
        "CATALOG_REFRESH_SECONDS": "1",
        "BUILD_DELAY_SECONDS": "10",
        settings.HOST_ENVIRONMENT.name: "Development",
    }


async def _build(args: Arguments) -> IndexStateJson:
    from shared.app.app import PROJECT_ROOT, App
    from shared.web.api.lifecycle import index_state_json

    definitions = read(definitions_file(args)).require()
    if args.events_file is not None:
        _check_source(definitions.indexes.get(args.index), definitions, args.events_file)
    replay = None if args.events_file is None else EventFile(args.events_file)
    app = App(PROJECT_ROOT, settings.Settings({**os.environ, **_settings(args)}))
    async with app.building_here(definitions, FROM_HERE, replay, _SLICE_SECONDS) as operations:
        progress = await operations.build(args.index, args.budget, FROM_HERE)
        await _drive(operations, args.index, progress.task.id)
        return index_state_json(await operations.state(args.index))


def _check_source(index: Index | None, definitions: Definitions, file: Path) -> None:
    if not file.is_file():
        raise UsageError(f"there is no file {file}: name one with an event per line")
    if index is not None and definitions.sources[index.source].cosmos is not None:
        raise UsageError(f"the facts of {index.name} are read from their container: leave out --from")


async def _drive(operations: GenerationLifecycle, index: str, task: str) -> None:
    """Work on every idle slice until the task has ended."""
    from shared.errors import TaskFailedError
    from shared.tasks.runner import idle, task_failed_error
    from shared.web.api.lifecycle import build_json

    shown = BuildProgress(index) if sys.stderr.isatty() else None
    while True:
        progress = (await operations.state(index)).build
        assert progress is not None
        if shown:
            show_line(shown.line(build_json(progress), time.monotonic()))
        if progress.task.id != task:
            raise TaskFailedError(f'Another build of {index} has taken the place of this one: see "build --status".')
        if progress.task.state == "failed":
            raise task_failed_error(progress.task)
        if progress.task.state == "done":
            return
        names = idle(progress, time.time()) if time.time() >= progress.task.not_before else []
        await asyncio.gather(*[operations.runner.work(task, name) for name in names[:_SLICES_AT_ONCE]])
        if not names:
            await asyncio.sleep(_WAIT_SECONDS)
