"""The hook that `azd` runs: refuses to package or provision what the definitions or Azure's limits forbid.

    python infra/hooks/check_definitions.py [--compile]

Runs with whatever Python is there, so it uses the standard library only. The packages that the check needs are those
of the app; they go into `.venv`, or into `.venv-deploy` when the project has not been set up on this machine.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT, DEPLOY = ROOT / ".venv", ROOT / ".venv-deploy"


def python_of(environment: Path) -> Path:
    """The interpreter of a virtual environment."""
    return environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def interpreter() -> Path:
    """A Python with the app's packages, made ready if need be."""
    if python_of(PROJECT).exists():
        return python_of(PROJECT)
    if not python_of(DEPLOY).exists():
        subprocess.run([sys.executable, "-m", "venv", str(DEPLOY)], check=True)
    requirements = ["-r", str(ROOT / "requirements.txt")]
    pip = [str(python_of(DEPLOY)), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*pip, *requirements], check=True)
    return python_of(DEPLOY)


def main() -> int:
    """The exit code of `index-tables validate --infra`."""
    command = [str(interpreter()), "-m", "cli", "validate", "--infra", *sys.argv[1:]]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
