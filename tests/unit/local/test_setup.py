"""The set-up chooses a Python that runs and says in one sentence what is missing."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.support import ROOT, is_running, wait_until

if TYPE_CHECKING:
    from pathlib import Path


def program(folder: Path, name: str, script: str) -> None:
    """An executable on a PATH of our own."""
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


def choose(path: Path, python: str = "") -> subprocess.CompletedProcess[str]:
    """What `choose_python` answers when only `path` is on PATH."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'local' / 'run')!r}); import setup\n"
        "setup.sys.executable = 'gone'\n"
        f"print(*setup.choose_python({python!r})[0:1])"
    )
    environment = {**os.environ, "PATH": str(path)}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=30, check=False
    )


def test_a_python_313_that_runs_is_preferred(tmp_path: Path) -> None:
    """It is the deployment target."""
    program(tmp_path, "python3.13", "echo 3 13")
    program(tmp_path, "python3", "echo 3 12")
    assert choose(tmp_path).stdout.strip() == "python3.13"


def test_a_shim_that_does_not_run_is_passed_over(tmp_path: Path) -> None:
    """Version managers leave those on PATH."""
    program(tmp_path, "python3.13", "echo 'command not found' >&2; exit 127")
    program(tmp_path, "python3", "echo 3 11")
    assert choose(tmp_path).stdout.strip() == "python3"


def test_only_old_pythons_are_an_error(tmp_path: Path) -> None:
    """With what to install."""
    program(tmp_path, "python3", "echo 3 9")
    assert "no Python 3.11 or newer was found" in choose(tmp_path).stderr


def test_a_wanted_python_that_is_too_old_is_an_error(tmp_path: Path) -> None:
    """`PYTHON=` is never silently replaced."""
    program(tmp_path, "mine", "echo 3 10")
    assert "PYTHON=mine is Python 3.10" in choose(tmp_path, "mine").stderr


def test_a_wanted_python_that_does_not_run_is_an_error(tmp_path: Path) -> None:
    """It is named."""
    assert "PYTHON=nowhere does not run" in choose(tmp_path, "nowhere").stderr


def test_the_command_runs_this_checkout_from_any_folder(tmp_path: Path) -> None:
    """Without an installed package: names such as `shared` belong to others in site-packages."""
    venv = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'local' / 'run')!r}); import setup; from pathlib import Path\n"
        f"venv = Path({str(venv)!r}); setup.link_project(venv, setup.venv_python(venv))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "__init__.py").write_text("raise SystemExit('a package of the folder')")
    packages = {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry.endswith("-packages"))}
    command = [str(venv / "bin" / "index-tables"), "validate", str(ROOT / "indexes.yaml")]
    done = subprocess.run(command, cwd=tmp_path, env=packages, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def node_check(path: Path) -> str:
    """What `check_node` says when only `path` is on PATH."""
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'local' / 'run')!r}); import setup; setup.check_node()"
    environment = {**os.environ, "PATH": str(path)}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=30, check=False
    ).stderr


def test_a_missing_node_is_named(tmp_path: Path) -> None:
    """One sentence with what to install."""
    assert "node was not found: install Node.js 20" in node_check(tmp_path)


def test_an_old_node_is_named(tmp_path: Path) -> None:
    """With its version."""
    program(tmp_path, "node", "echo v18.1.0")
    assert "node is v18.1.0" in node_check(tmp_path)


def test_only_the_errors_of_npm_are_shown(tmp_path: Path) -> None:
    """What it sums up at its end is on stdout, what went wrong on stderr."""
    folder = tmp_path / "node_modules"
    folder.mkdir()
    for name in ("package.json", "package-lock.json"):
        (tmp_path / name).write_text("{}")
    program(tmp_path, "node", "echo v20.1.0")
    program(tmp_path, "npm", "echo added 453 packages; echo npm error >&2; exit 1")
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'local' / 'run')!r}); import setup\n"
        f"setup.ROOT = setup.Path({str(tmp_path)!r})\n"
        "try:\n    setup.set_up_node(setup.ROOT)\n"
        "except setup.SetupError as error:\n    print(error, file=sys.stderr)"
    )
    environment = {**os.environ, "PATH": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=30, check=False
    )
    assert ended.stdout == ""
    assert ended.stderr.splitlines()[1:] == ["npm error", "installing the Node packages failed; see the lines above."]


def test_ctrl_c_is_one_line(tmp_path: Path) -> None:
    """The command that was running ends with what it has started, and says nothing."""
    code = (
        f"import os, sys; sys.path.insert(0, {str(ROOT / 'local' / 'run')!r}); import setup\n"
        f"os.chdir({str(tmp_path)!r})\n"
        "slow = 'trap \"echo story >&2\" INT; echo $$ > pid; sleep 60 & wait'\n"
        "setup.set_up_python = lambda *_, **__: setup.step(['sh', '-c', slow], 'it', setup.Path('.'))\n"
        "sys.argv = ['setup.py']\n"
        "sys.exit(setup.main())"
    )
    command = [sys.executable, "-c", f"import signal; signal.signal(2, signal.default_int_handler)\n{code}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "", "the command runs")
        os.killpg(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert (process.returncode, told) == (130, "setup: interrupted; the same command goes on where it was\n")
    assert not is_running(int((tmp_path / "pid").read_text()))
