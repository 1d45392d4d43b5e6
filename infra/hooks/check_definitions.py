"""The hook that `azd` runs: refuses to package or provision what the definitions or Azure's limits forbid.

    python infra/hooks/check_definitions.py [--compile]

Runs with whatever Python is there, so it uses the standard library only. The packages that the check needs are those
of the app: in `.venv`, or in a `.venv-deploy-…` of its own when the project has not been set up on this machine.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = ROOT / ".venv"
# Those of all versions of Python: what is deployed installs on one of them only.
REQUIREMENTS = ROOT / "requirements/local.txt"


def python_of(environment: Path) -> Path:
    """The interpreter of a virtual environment."""
    return environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def interpreter() -> Path:
    """A Python with the app's packages, made ready if need be."""
    if python_of(PROJECT).exists():
        return python_of(PROJECT)
    # One for each list of packages and each Python, so that none is ever changed while another hook uses it.
    contents = sys.version.encode() + REQUIREMENTS.read_bytes()
    environment = ROOT / f".venv-deploy-{hashlib.sha256(contents).hexdigest()[:8]}"
    if not python_of(environment).exists():
        make(environment)
    return python_of(environment)


def make(environment: Path) -> None:
    """Make an environment elsewhere and move it: `azd up` runs hooks at once, and none may find half of one."""
    making = Path(tempfile.mkdtemp(prefix=".venv-making-", dir=ROOT))
    try:
        subprocess.run([sys.executable, "-m", "venv", str(making)], check=True)
        pip = [str(python_of(making)), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        subprocess.run([*pip, "--require-hashes", "-r", str(REQUIREMENTS)], check=True)
        making.rename(environment)
    except OSError:
        if not python_of(environment).exists():
            raise
    finally:
        shutil.rmtree(making, ignore_errors=True)


def main() -> int:
    """The exit code of `index-tables validate --infra`."""
    command = [str(interpreter()), "-m", "cli", "validate", "--infra", *sys.argv[1:]]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
