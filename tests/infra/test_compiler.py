"""The real compiler builds and lints the templates without a word, where there is one.

Bicep lets a build with warnings succeed, and a property that a type does not have is only a warning. So every line that
it writes counts as a fault here. The checks beside this one need no compiler and run everywhere.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.infra.templates import INFRA
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

NO_COMPILER = "there is no `bicep` on the PATH, so the templates were not compiled: install the Bicep CLI for this test"


@pytest.fixture
def bicep() -> str:
    """The compiler; `REQUIRE_BICEP` makes its absence a failure, for the job that is there to run it."""
    found = shutil.which("bicep")
    if found is None and os.environ.get("REQUIRE_BICEP"):
        pytest.fail(NO_COMPILER)
    return found or pytest.skip(NO_COMPILER)


def said(bicep: str, command: str, infra: Path) -> str:
    """What the compiler says about the templates of a folder; nothing when they are right."""
    target = {"build": ["--outfile", str(infra / "built.json")], "lint": []}[command]
    done = subprocess.run(
        [bicep, command, str(infra / "main.bicep"), *target], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 or done.stderr or done.stdout
    return f"{done.stdout}{done.stderr}".strip()


def copied(folder: Path) -> Path:
    """The templates, with the definitions beside them."""
    shutil.copy(ROOT / "indexes.yaml", folder)
    return shutil.copytree(INFRA, folder / "infra")


@pytest.mark.parametrize("command", ["build", "lint"])
def test_the_compiler_has_nothing_to_say(bicep: str, command: str, tmp_path: Path) -> None:
    """No error, and no warning."""
    assert said(bicep, command, copied(tmp_path)) == ""


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("app/storage.bicep", "allowSharedKeyAccess: false", "allowSharedKeys: false"),
        ("app/storage.bicep", "'TLS1_2'", "'TLS12'"),
        ("app/functions.bicep", "  name: 'ftp'\n", "  name: toLower('FTP')\n"),
        ("main.bicep", "var consumerGroup", "var unused = 1\nvar consumerGroup"),
    ],
    ids=["an unknown property", "a wrong value", "a name that hides a type", "an unused variable"],
)
def test_a_warning_is_a_fault(bicep: str, file: str, old: str, new: str, tmp_path: Path) -> None:
    """The check can fail: each of these is only a warning in Bicep."""
    template = copied(tmp_path) / file
    text = template.read_text()
    assert old in text
    template.write_text(text.replace(old, new))
    assert said(bicep, "build", tmp_path / "infra") != ""


def test_pull_requests_are_compiled_where_there_is_a_compiler() -> None:
    """In a job that fails without one."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    # YAML 1.1 reads the key `on` as true.
    assert "pull_request" in workflow[True]
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    (compiling,) = [step for step in steps if "REQUIRE_BICEP" in step.get("env", {})]
    assert "tests/infra/test_compiler.py" in compiling["run"]


def test_every_rule_of_the_linter_that_is_set_is_an_error() -> None:
    """A rule at the level of a warning would let a build pass."""
    rules = json.loads((INFRA / "bicepconfig.json").read_text())["analyzers"]["core"]["rules"]
    assert len(rules) > 30
    assert {rule["level"] for rule in rules.values()} == {"error"}
