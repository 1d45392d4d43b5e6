"""Where a local run listens, from the `endpoints.json` in its data folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from cli.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

DATA_FOLDER: Final = ".local"


def endpoints(data_folder: Path) -> dict[str, Any]:
    """The endpoints of the run in this folder; raises `UsageError` when none is running there."""
    file = data_folder / "endpoints.json"
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict) or "http" not in found:
        raise UsageError(f"no local run has written {file}: start one with `make run`, or name another with --data")
    return found
