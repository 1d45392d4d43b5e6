"""Every program of docs/clients.md and every recipe runs against a local run, as it stands there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import requests

from cli.main import main
from local.process import ports
from tests.clients.conftest import IN_REDMOND, samples
from tests.clients.node import TYPESCRIPT, compile_typescript, link_modules, node
from tests.clients.packages import CLIENT
from tests.functions.apps import serving
from tests.support import ROOT, listens, running, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clients.conftest import ClientRun

USUAL = "http://127.0.0.1:7071"
RECIPES = ROOT / "clients/recipes"
PAGE = (ROOT / "docs/clients.md").read_text(encoding="utf-8")
PHONES = {each["lastName"]: each["phone"] for each in sorted(IN_REDMOND, key=lambda each: each["firstName"])}
COUNTED = sum(each.get("town") in {"Redmond", "Tacoma"} for each in samples("customers"))


def program(heading: str, language: str) -> str:
    """The first program of a section of the page."""
    return block(re.split(r"^#+ ", PAGE.partition(f"# {heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0], language)


def block(text: str, language: str) -> str:
    """The first block in this language."""
    found = re.search(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert found is not None, language
    return found[1]


@pytest.fixture
def told(client_run: ClientRun) -> dict[str, str]:
    """What the programs read from their environment."""
    path = os.pathsep.join([str(CLIENT / "src"), str(ROOT)])
    return {"INDEX_TABLES_URL": client_run.url, "INDEX_TABLES_KEY": client_run.key, "PYTHONPATH": path}


def python(file: Path, told: dict[str, str]) -> str:
    """The output of a program, which must succeed."""
    command, environment = [sys.executable, file.name], {**os.environ, **told}
    done = subprocess.run(command, cwd=file.parent, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_recipe(url: str) -> None:
    """It answers with the phones, and with the code of a problem."""
    answer = requests.get(f"{url}/towns/Redmond/phones", timeout=30)
    assert (answer.status_code, answer.json()) == (200, PHONES)
    long = requests.get(f"{url}/towns/{'x' * 5000}/phones", timeout=30)
    assert (long.status_code, set(long.json())) == (502, {"code"})


def test_the_python_program_prints_what_the_page_says(told: dict[str, str], tmp_path: Path) -> None:
    """With the samples."""
    (tmp_path / "program.py").write_text(program("Python", "python"))
    printed = python(tmp_path / "program.py", told)
    assert printed == program("Python", "text")
    assert printed.endswith(f"\n{COUNTED}\n")


def test_the_program_of_the_python_package_prints_what_it_says(told: dict[str, str], tmp_path: Path) -> None:
    """But for the app, which is another."""
    text = (CLIENT / "README.md").read_text(encoding="utf-8")
    connected = f'IndexTables("{told["INDEX_TABLES_URL"]}", key="{told["INDEX_TABLES_KEY"]}")'
    (tmp_path / "program.py").write_text(block(text, "python").replace(f'IndexTables("{USUAL}")', connected))
    assert python(tmp_path / "program.py", told) == block(text, "text")


def test_the_typescript_programs_print_what_is_said(
    told: dict[str, str], typescript_client: Path, tmp_path: Path
) -> None:
    """On the page and in the package; compiled strictly."""
    text = (TYPESCRIPT / "README.md").read_text(encoding="utf-8")
    connected = f'IndexTables("{told["INDEX_TABLES_URL"]}", {{ key: "{told["INDEX_TABLES_KEY"]}" }})'
    (tmp_path / "program.ts").write_text(program("TypeScript", "typescript"))
    (tmp_path / "readme.ts").write_text(block(text, "typescript").replace(f'IndexTables("{USUAL}")', connected))
    files = ["program.ts", "readme.ts"]
    compile_typescript(tmp_path, files, client=typescript_client, types=["node"], noEmit=False)
    environment = {**os.environ, **told}
    assert node("readme.js", folder=tmp_path, environment=environment) == block(text, "text")
    printed = node("program.js", folder=tmp_path, environment=environment)
    assert printed == f"{block(text, 'text')}{{ count: {COUNTED}, isExact: true }}\n"


def test_the_program_with_typed_classes_runs(told: dict[str, str], tmp_path: Path) -> None:
    """Over what the command writes."""
    assert main(["client", "python", str(ROOT / "indexes.yaml"), "-o", str(tmp_path / "indexes.py")]) == 0
    use = "import os\nwith IndexTables(os.environ['INDEX_TABLES_URL'], key=os.environ['INDEX_TABLES_KEY']) as tables:\n"
    (tmp_path / "program.py").write_text(f"{program('Typed classes', 'python')}\n\n{use}    print(names(tables))\n")
    printed = python(tmp_path / "program.py", told)
    assert printed == f"{sorted(each['lastName'] for each in IN_REDMOND if each['lastName'] >= 'S')}\n"


def test_the_recipe_for_fastapi_runs(told: dict[str, str], tmp_path: Path) -> None:
    """Under uvicorn."""
    (port,) = ports.any_free(1)
    command = [sys.executable, "-m", "uvicorn", "fastapi_app:app", "--app-dir", str(RECIPES), "--port", str(port)]
    with running(command, tmp_path / "log", told) as served:
        wait_until(lambda: listens(port) or served.process.poll() is not None, "uvicorn listens")
        assert served.process.poll() is None, served.output
        check_recipe(f"http://127.0.0.1:{port}")


def test_the_recipe_for_a_function_app_runs(told: dict[str, str], azurite: str, tmp_path: Path) -> None:
    """In the local host."""
    app = tmp_path / "app"
    app.mkdir()
    shutil.copy(RECIPES / "functions_app.py", app / "function_app.py")
    (app / "host.json").write_text('{"version": "2.0"}')
    with serving(app, {**told, "AzureWebJobsStorage": azurite}) as served:
        check_recipe(f"{served.url}/api")


def test_the_recipe_for_express_runs(told: dict[str, str], typescript_client: Path, tmp_path: Path) -> None:
    """In node."""
    shutil.copy(RECIPES / "express_app.mjs", tmp_path)
    link_modules(tmp_path, typescript_client)
    (port,) = ports.any_free(1)
    with running(["node", str(tmp_path / "express_app.mjs")], tmp_path / "log", {**told, "PORT": str(port)}) as served:
        wait_until(lambda: listens(port) or served.process.poll() is not None, "Express listens")
        assert served.process.poll() is None, served.output
        check_recipe(f"http://127.0.0.1:{port}")
