"""Wheels and empty environments, made with uv."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.support import ROOT, missing_service

UV = Path(sys.executable).with_name("uv")
CLIENT = ROOT / "clients/python"


def uv(*arguments: str | Path) -> None:
    """Run uv; without a package registry the test is skipped on a laptop."""
    done = subprocess.run([UV, *arguments], capture_output=True, text=True, timeout=180, check=False)
    if done.returncode != 0:
        missing_service(f"uv {arguments[0]} failed: {done.stderr[-2000:]}")


def wheel(project: Path, folder: Path) -> Path:
    """The wheel of a project, of a copy: a build leaves files beside the code."""
    left_out = shutil.ignore_patterns(
        ".*", "node_modules", "__pycache__", "build", "dist", "docs", "tests", "*.egg-info"
    )
    copy = shutil.copytree(project, folder / "copy", ignore=left_out)
    uv("build", "--quiet", "--wheel", "--out-dir", folder, copy)
    (built,) = folder.glob("*.whl")
    return built


def environment(folder: Path, *packages: Path) -> Path:
    """The Python of an environment with these packages and what they need, and nothing else."""
    uv("venv", "--quiet", "--python", sys.executable, folder)
    python = folder / "bin" / "python"
    uv("pip", "install", "--quiet", "--python", python, *packages)
    return python
