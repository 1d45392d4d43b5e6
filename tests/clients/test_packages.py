"""What is installed elsewhere: a client that stands beside any other package, typed, and nothing of the app."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from cli.main import main
from tests.clients.conftest import IN_REDMOND, samples
from tests.clients.node import FOLDER, compile_typescript, node
from tests.clients.packages import CLIENT, environment, wheel
from tests.support import ROOT

if TYPE_CHECKING:
    from tests.clients.conftest import ClientRun

PROGRAM = Path(__file__).parent / "python/program.py"
CUSTOMER = samples("orders")[0]["customer"]["id"]
SHARED = """
[build-system]
requires = ["setuptools==84.2.1"]
build-backend = "setuptools.build_meta"
[project]
name = "shared"
version = "1.0"
"""


def package_named_shared(folder: Path) -> Path:
    """A package that an application has of its own."""
    (folder / "shared").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(SHARED)
    (folder / "shared/__init__.py").write_text('OWNER: str = "mine"\n')
    (folder / "shared/py.typed").touch()
    return folder


def python(interpreter: Path | str, *arguments: str | Path, folder: Path) -> str:
    """The output of a Python that sees nothing of this project, which must succeed."""
    hidden = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "MYPYPATH"}}
    command = [interpreter, *arguments]
    done = subprocess.run(command, cwd=folder, env=hidden, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_typed_classes_work_beside_another_package_named_shared_and_under_mypy_strict(
    client_run: ClientRun, tmp_path: Path
) -> None:
    """From a wheel, in an environment that was empty."""
    interpreter = environment(
        tmp_path / "env", wheel(CLIENT, tmp_path / "dist"), package_named_shared(tmp_path / "own")
    )
    work = tmp_path / "work"
    work.mkdir()
    program = shutil.copy(PROGRAM, work)
    assert main(["client", "python", str(ROOT / "indexes.yaml"), "-o", str(work / "indexes.py")]) == 0
    output = python(interpreter, program, client_run.url, client_run.key, CUSTOMER, folder=work)
    assert output == f"mine {len(IN_REDMOND)} {len(IN_REDMOND)} True\n"
    strict: list[str | Path] = [
        "-m",
        "mypy",
        "--strict",
        "--python-executable",
        interpreter,
        "--cache-dir",
        tmp_path / "cache",
    ]
    assert "Success: no issues found in 2 source files" in python(
        sys.executable, *strict, "indexes.py", "program.py", folder=work
    )


def test_the_typed_classes_of_typescript_compile_strictly_and_find_mistakes(
    client_run: ClientRun, typescript_client: Path, tmp_path: Path
) -> None:
    """And do what they say."""
    assert main(["client", "typescript", str(ROOT / "indexes.yaml"), "-o", str(tmp_path / "indexes.ts")]) == 0
    shutil.copy(FOLDER / "programs/typed.ts", tmp_path)
    files = ["typed.ts", "indexes.ts"]
    compile_typescript(tmp_path, files, client=typescript_client, types=["node"], noEmit=False)
    told = {"URL": client_run.url, "KEY": client_run.key, "CUSTOMER": CUSTOMER}
    output = node("typed.js", folder=tmp_path, environment={**os.environ, **told})
    assert output == f"{len(IN_REDMOND)} true false\n"


def test_the_wheel_of_the_project_has_no_packages(tmp_path: Path) -> None:
    """Names such as `shared` and `local` belong to others in site-packages."""
    names = {name.partition("/")[0] for name in zipfile.ZipFile(wheel(ROOT, tmp_path)).namelist()}
    assert len(names) == 1
    assert names.pop().endswith(".dist-info")


def test_the_packed_typescript_client_installs_under_the_name_in_the_docs(
    typescript_client: Path, tmp_path: Path
) -> None:
    """As `make packages` packs it; a folder of sources would have nothing to import."""
    npm = ["npm", "--ignore-scripts", "--offline", "--silent"]
    subprocess.run([*npm, "pack", "--pack-destination", tmp_path], cwd=typescript_client, check=True, timeout=60)
    (packed,) = tmp_path.glob("*.tgz")
    assert f"npm install ./dist/{packed.name}\n" in (ROOT / "docs/clients.md").read_text(encoding="utf-8")
    (tmp_path / "package.json").write_text('{"private": true, "type": "module"}')
    subprocess.run([*npm, "install", packed], cwd=tmp_path, check=True, timeout=60)
    program = "import { IndexTables } from 'index-tables'; console.log(typeof IndexTables);"
    assert node("--input-type=module", "--eval", program, folder=tmp_path) == "function\n"
