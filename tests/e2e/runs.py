"""Local runs started as a user starts them, and their endpoints."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

from tests.support import Program, local_command, running, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

READY_SECONDS = 60.0


def endpoints(data_folder: Path) -> dict[str, Any]:
    """Where the run in this folder listens; empty while it does not."""
    try:
        found: dict[str, Any] = json.loads((data_folder / "endpoints.json").read_text())
    except FileNotFoundError:
        return {}
    return found


@contextlib.contextmanager
def up(data_folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> Iterator[Program]:
    """`python -m local up` in a folder, ready or not."""
    command = local_command("up", "--data", str(data_folder), *arguments)
    with running(command, data_folder.with_suffix(".log"), environment) as program:
        yield program


@contextlib.contextmanager
def ready(
    data_folder: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[Program, dict[str, Any]]]:
    """The same, once it has published its endpoints."""
    with up(data_folder, *arguments, environment=environment) as program:
        # A run that was killed leaves its file behind; it is this one's only with this one's pid.
        wait_until(
            lambda: endpoints(data_folder).get("pid") == program.process.pid or program.process.poll() is not None,
            "endpoints.json",
            READY_SECONDS,
        )
        assert program.process.poll() is None, program.output
        yield program, endpoints(data_folder)
