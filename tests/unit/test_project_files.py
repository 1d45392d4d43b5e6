"""Files beside the code stay true to it."""

from __future__ import annotations

import fnmatch
import json
import re
import subprocess

from tests.support import ROOT

# What Azure runs: the app, what it imports and what it reads.
DEPLOYED = {"function_app.py", "functions", "shared", "host.json", "requirements.txt", "indexes.yaml"}


def tracked_top_level_names() -> set[str]:
    """The names at the root of the repository."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return {line.partition("/")[0] for line in listed.stdout.splitlines()}


def test_only_what_runs_in_azure_is_deployed() -> None:
    """`.funcignore` names everything else at the root."""
    patterns = [line.rstrip("/") for line in (ROOT / ".funcignore").read_text().splitlines() if line and line[0] != "#"]
    kept = {
        name for name in tracked_top_level_names() if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
    }
    assert kept <= DEPLOYED


def test_the_lock_files_name_no_download_address() -> None:
    """They must install from whatever registry a machine uses."""
    locks = [path for path in ROOT.rglob("package-lock.json") if "node_modules" not in path.parts]
    assert locks
    assert not [path for path in locks if '"resolved"' in path.read_text()]


def test_every_requirement_is_pinned() -> None:
    """The same versions on every machine."""
    lines = [
        line.partition("#")[0].strip()
        for name in ("requirements.txt", "requirements-dev.txt")
        for line in (ROOT / name).read_text().splitlines()
    ]
    unpinned = [line for line in lines if line and not line.startswith("-r ") and "==" not in line.partition(";")[0]]
    assert unpinned == []


def test_the_azurite_of_the_lock_file_is_the_one_asked_for() -> None:
    """An exact version, in both files."""
    wanted = json.loads((ROOT / "local/package.json").read_text())["dependencies"]["azurite"]
    locked = json.loads((ROOT / "local/package-lock.json").read_text())["packages"]["node_modules/azurite"]["version"]
    assert wanted == locked


def test_the_readme_names_every_command_of_the_makefile() -> None:
    """A newcomer finds each of them."""
    targets = set(re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[0].split())
    readme = (ROOT / "README.md").read_text()
    assert [target for target in sorted(targets - {"setup", "setup-tests"}) if f"make {target}" not in readme] == []
