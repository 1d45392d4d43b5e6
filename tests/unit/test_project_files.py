"""Files beside the code stay true to it."""

from __future__ import annotations

import fnmatch
import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

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


def ignored(by: str, paths: list[str], folder: Path) -> set[str]:
    """Which of these paths an ignore file of the project leaves out: git reads its patterns, as azd and func do."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    shutil.copy(ROOT / by, folder / ".gitignore")
    command = ["git", "check-ignore", "--no-index", *paths]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return set(done.stdout.splitlines())


def test_what_developers_keep_beside_the_code_is_not_deployed(tmp_path: Path) -> None:
    """Above all `.azure`, where azd keeps the values of its environments."""
    paths = [".azure/demo/.env", ".env", ".vscode/settings.json", "my_env/bin/python", ".venv-deploy-1/bin/python"]
    assert ignored(".funcignore", paths, tmp_path) == set(paths)


def test_what_runs_in_azure_is_deployed(tmp_path: Path) -> None:
    """With the compiled definitions, which git does not keep."""
    paths = ["function_app.py", "functions/changes.py", "shared/app/settings.py", "host.json", "indexes.compiled.json"]
    assert ignored(".funcignore", paths, tmp_path) == set()


def test_git_does_not_keep_the_environments_of_azd(tmp_path: Path) -> None:
    """The key of page tokens may be in them."""
    assert ignored(".gitignore", [".azure/demo/.env"], tmp_path) == {".azure/demo/.env"}


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
