"""Where a local run listens, from the `endpoints.json` in its data folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cli.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def endpoints(data_folder: Path) -> dict[str, Any]:
    """The endpoints of the run in this folder; raises `UsageError` when none is running there."""
    path = data_folder / "endpoints.json"
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        raise UsageError(
            f"no local run is ready in {data_folder}: start one with `make run`, or name its --data"
        ) from None
    return found
