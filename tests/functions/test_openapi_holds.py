"""The OpenAPI document is true: schemathesis calls everything in it, in all ways it can think of."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.functions.apps import serving
from tests.support import ROOT

CONFIGURATION = Path(__file__).with_name("schemathesis.toml")


def run_schemathesis(settings: dict[str, str], folder: Path, max_examples: int) -> None:
    """Every default check on every call, with function keys checked; fails with its report."""
    with serving(ROOT, settings, "--http-only", "--keys", str(folder / "keys.json"), log_folder=folder) as app:
        key = json.loads((folder / "keys.json").read_text())["function"]
        program = str(Path(sys.executable).with_name("st"))
        command = [program, "--no-color", "--config-file", str(CONFIGURATION), "run", f"{app.url}/api/openapi.json"]
        command += ["--header", f"x-functions-key: {key}", "--max-examples", str(max_examples)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr


def test_every_call_keeps_the_openapi_document(lookup_settings: dict[str, str], tmp_path: Path) -> None:
    """No server error, no undocumented status, type or shape; bad data is refused, and so is a missing key."""
    run_schemathesis(lookup_settings, tmp_path, 20)


@pytest.mark.long
def test_every_call_keeps_the_openapi_document_for_longer(lookup_settings: dict[str, str], tmp_path: Path) -> None:
    """The same with more data."""
    run_schemathesis(lookup_settings, tmp_path, 500)
