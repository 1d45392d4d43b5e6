"""A newcomer's first minutes: clone, run the demo, run it again without a network."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

MINUTES_SECONDS = 900
OFFLINE = {"PIP_NO_INDEX": "1", "npm_config_offline": "true"}


def make(folder: Path, target: str, settings: dict[str, str]) -> str:
    """The output of `make target`, which must succeed."""
    ended = subprocess.run(
        ["make", target, f"PYTHON={sys.executable}"],
        cwd=folder,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=MINUTES_SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.long
@pytest.mark.timeout(2 * MINUTES_SECONDS)
def test_a_fresh_clone_runs_the_demo_twice_and_the_second_time_offline(tmp_path: Path) -> None:
    """Set-up installs everything that is needed, once."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    assert "MissingPartitionPart" in make(clone, "demo", {})  # the last stage of the tour
    assert "MissingPartitionPart" in make(clone, "demo", OFFLINE)
