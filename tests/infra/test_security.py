"""checkov's security checks pass, and every exception from them says why."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.infra.templates import INFRA, all_templates
from tests.support import missing_service

if TYPE_CHECKING:
    from pathlib import Path

# Its dependencies are many and strict, so it gets an environment of its own.
CHECKOV: Final = "checkov==3.3.30"
_SKIP: Final = re.compile(r"checkov:skip=(\w+)(?::(.*))?")


@pytest.fixture(scope="module")
def checkov(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program in a fresh environment."""
    folder = tmp_path_factory.mktemp("checkov")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    install = [str(folder / "bin/python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check", CHECKOV]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        missing_service(f"{CHECKOV} cannot be installed: {done.stderr[-500:]}")
    return folder / "bin/checkov"


def scan(checkov: Path, templates: Path) -> dict[str, Any]:
    """What checkov says about a folder."""
    command = [str(checkov), "-d", str(templates), "--framework", "bicep", "--skip-download", "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    results: dict[str, Any] = json.loads(done.stdout)["results"]
    return results


@pytest.mark.long
def test_the_security_checks_pass(checkov: Path) -> None:
    """It cannot read main.bicep, which has lambdas and no resource but a group; it reads all others."""
    results = scan(checkov, INFRA)
    assert [(one["check_id"], one["resource"]) for one in results["failed_checks"]] == []
    assert [path.rpartition("/")[2] for path in results["parsing_errors"]] == ["main.bicep"]
    assert len(results["passed_checks"]) >= 25


@pytest.mark.long
def test_the_security_checks_can_fail(checkov: Path, tmp_path: Path) -> None:
    """An app that answers plain HTTP is found."""
    copy = shutil.copytree(INFRA, tmp_path / "infra")
    template = copy / "app/functions.bicep"
    template.write_text(template.read_text().replace("httpsOnly: true", "httpsOnly: false"))
    assert "CKV_AZURE_14" in {one["check_id"] for one in scan(checkov, copy)["failed_checks"]}


def test_every_exception_says_why() -> None:
    """In place, where the next reader looks."""
    skips = [found for path in all_templates() for found in _SKIP.findall(path.read_text())]
    assert skips
    assert [check for check, reason in skips if not reason.strip()] == []
