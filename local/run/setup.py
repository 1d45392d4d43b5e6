"""Sets the project up: `.venv` with pinned packages, Azurite from its lock file. Quick when there is nothing to do.

The Makefile runs it with the Python that is on PATH, so it uses the standard library only and syntax that
Python 3.7 can read: a Python that is too old must get a sentence, not a traceback.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OLDEST_PYTHON = (3, 11)
DEPLOYED_PYTHON = (3, 13)
OLDEST_NODE = 20
# In the order of preference: the deployment target first.
CANDIDATES = ("python3.13", "python3", "python3.12", "python3.11", "python")
RUNTIME_PACKAGE = "azure-functions-runtime"
LOCAL_PACKAGES = ROOT / "requirements/local.txt"
TEST_PACKAGES = ROOT / "requirements/tests.txt"
DOCS_PACKAGES = ROOT / "requirements/docs.txt"
DOCS_VENV = ROOT / ".venv-docs"
# What draws the diagrams of the documentation; tests look whether it can.
DOCS_NODE = ROOT / "docs/site"
CLIENT_FOLDER = "clients/python/src"
# 128 and the number of SIGINT: what shells give.
INTERRUPTED = 130
STAMP = ".index-tables-setup"


class SetupError(Exception):
    """A missing prerequisite or a failed step, as one sentence that says what to do."""


def main() -> int:
    """Set up what the arguments ask for; one sentence and exit code 1 when something is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default="", help="the Python to use (default: 3.13 if it runs, else 3.11 or newer)")
    parser.add_argument("--venv", default=".venv", help="the virtual environment (default: .venv)")
    parser.add_argument("--tests", action="store_true", help="also what only the tests need")
    parser.add_argument("--docs", action="store_true", help="only what the documentation site needs")
    options = parser.parse_args()
    try:
        if options.docs:
            set_up_docs(options.python)
            return 0
        set_up_python(ROOT / options.venv, options.python, with_tests=options.tests)
        for folder in node_folders(with_tests=options.tests):
            set_up_node(folder)
    except SetupError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("setup: interrupted; the same command goes on where it was", file=sys.stderr)
        return INTERRUPTED
    return 0


def set_up_python(venv: Path, wanted: str, *, with_tests: bool) -> None:
    """Make the environment and install the pinned packages, unless both are as they should be."""
    interpreter = venv_python(venv)
    version = python_version(interpreter)
    if version is None or (wanted and python_version(wanted) != version):
        chosen, version = choose_python(wanted)
        say(f"using {chosen} (Python {dotted(version)}) for {venv.name}")
        shutil.rmtree(venv, ignore_errors=True)
        step([chosen, "-m", "venv", str(venv)], "the virtual environment (on Debian, install python3-venv)")
    stamps = {file: digest(file, ROOT / "pyproject.toml", Path(__file__)) for file in (TEST_PACKAGES, LOCAL_PACKAGES)}
    # The packages of the tests include those of the local run.
    if read(venv / STAMP) in {stamps[TEST_PACKAGES], stamps[TEST_PACKAGES if with_tests else LOCAL_PACKAGES]}:
        return
    packages = TEST_PACKAGES if with_tests else LOCAL_PACKAGES
    say(f"installing Python packages into {venv.name} (once, a minute or two)")
    pip = [str(interpreter), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    step([*pip, "--require-hashes", "--requirement", str(packages)], "the Python packages")
    if version < DEPLOYED_PYTHON:
        install_runtime(pip, packages)
    link_project(venv, interpreter)
    (venv / STAMP).write_text(stamps[packages])


def set_up_docs(wanted: str) -> None:
    """Make the environment of the documentation site, unless it is there: it shares no package with the app."""
    interpreter = venv_python(DOCS_VENV)
    stamp = digest(DOCS_PACKAGES, Path(__file__))
    if python_version(interpreter) is None or read(DOCS_VENV / STAMP) != stamp:
        chosen, _ = choose_python(wanted)
        say(f"installing Python packages into {DOCS_VENV.name} (once)")
        shutil.rmtree(DOCS_VENV, ignore_errors=True)
        step([chosen, "-m", "venv", str(DOCS_VENV)], "the virtual environment (on Debian, install python3-venv)")
        pip = [str(interpreter), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        step([*pip, "--require-hashes", "--requirement", str(DOCS_PACKAGES)], "the Python packages")
        (DOCS_VENV / STAMP).write_text(stamp)
    set_up_node(DOCS_NODE)


def link_project(venv: Path, interpreter: Path) -> None:
    """Let the environment run the project from this folder, and give it the command `index-tables`.

    Earlier set-ups installed the project under the name that is now the client's.
    """
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    asked = subprocess.run([str(interpreter), "-c", code], stdout=subprocess.PIPE, check=True)
    packages = Path(asked.stdout.decode().strip())
    for old in packages.glob("__editable__*index_tables*"):
        old.unlink()
    for old in packages.glob("index_tables-*.dist-info"):
        shutil.rmtree(old)
    (packages / "index-tables-checkout.pth").write_text(f"{ROOT}\n{ROOT / CLIENT_FOLDER}\n")
    if os.name == "nt":
        (interpreter.parent / "index-tables.cmd").write_text(f'@"{interpreter}" -P -m cli %*\n')
        return
    command = interpreter.parent / "index-tables"
    command.write_text(f'#!/bin/sh\nexec "{interpreter}" -P -m cli "$@"\n')
    command.chmod(0o755)


def install_runtime(pip: list[str], packages: Path) -> None:
    """Install the Azure Functions runtime on a Python that its authors do not name.

    They declare 3.13; the wheel is pure Python and works on 3.11 and 3.12, which is enough locally.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "runtime.txt"
        file.write_text(locked(packages, RUNTIME_PACKAGE))
        step(
            [*pip, "--no-deps", "--ignore-requires-python", "--require-hashes", "--requirement", str(file)],
            "the Azure Functions runtime",
        )


def choose_python(wanted: str) -> tuple[str, tuple[int, ...]]:
    """The interpreter for the environment, with its version: `wanted`, or the first candidate that is new enough.

    A candidate on PATH may be a version manager's shim that does not run, so each is tried.
    """
    if wanted:
        version = python_version(wanted)
        if version is None:
            raise SetupError(f"PYTHON={wanted} does not run: name a Python 3.11 or newer.")
        if version < OLDEST_PYTHON:
            raise SetupError(f"PYTHON={wanted} is Python {dotted(version)}: name 3.11 or newer.")
        return wanted, version
    for name in (*CANDIDATES, sys.executable):
        version = python_version(name)
        if version is not None and version >= OLDEST_PYTHON:
            return name, version
    raise SetupError("no Python 3.11 or newer was found: install Python 3.13, or name one with PYTHON=/path/to/python.")


def set_up_node(folder: Path) -> None:
    """Install the packages of one lock file, unless they are there."""
    modules = folder / "node_modules"
    stamp = digest(folder / "package.json", folder / "package-lock.json")
    if read(modules / STAMP) == stamp:
        return
    check_node()
    say(f"installing Node packages into {modules.relative_to(ROOT)} (once, a minute or two)")
    npm = shutil.which("npm")
    if npm is None:
        raise SetupError(f"npm was not found: install Node.js {OLDEST_NODE} or newer with npm.")
    # Its flag for less, --silent, also hides errors; on stdout is only how many packages there are.
    command = [npm, "ci", "--ignore-scripts", "--loglevel=error"]
    step(command, "the Node packages", folder, stdout=subprocess.DEVNULL)
    (modules / STAMP).write_text(stamp)


def node_folders(*, with_tests: bool) -> list[Path]:
    """The folders with a lock file that this set-up needs."""
    folders = [ROOT / "local"]
    if with_tests:
        folders += [DOCS_NODE, *(lock.parent for lock in sorted((ROOT / "tests").glob("*/*/package-lock.json")))]
    return folders


def check_node() -> None:
    """Azurite needs Node.js; say so before npm says something longer."""
    node = shutil.which("node")
    if node is None:
        raise SetupError(f"node was not found: install Node.js {OLDEST_NODE} or newer, which Azurite needs.")
    text = subprocess.run([node, "--version"], stdout=subprocess.PIPE, check=False).stdout.decode().strip()
    if int(text.lstrip("v").split(".")[0] or 0) < OLDEST_NODE:
        raise SetupError(f"node is {text}: install Node.js {OLDEST_NODE} or newer, which Azurite needs.")


def python_version(interpreter: str | Path) -> tuple[int, ...] | None:
    """The (major, minor) version of an interpreter, or none when it does not run."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        answer = subprocess.run(
            [str(interpreter), "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
        )
    except OSError:
        return None
    return tuple(int(part) for part in answer.stdout.split()) if answer.returncode == 0 else None


def venv_python(venv: Path) -> Path:
    """The interpreter of a virtual environment."""
    return venv / "Scripts" / "python.exe" if os.name == "nt" else venv / "bin" / "python"


def locked(packages: Path, package: str) -> str:
    """The package with its version and hashes as a list of packages has it, without the condition on Python."""
    lines = packages.read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(f"{package}=="))
    after = next(number for number in range(first + 1, len(lines)) if "--hash=" not in lines[number])
    return "\n".join([f"{lines[first].partition(';')[0].strip()} \\", *lines[first + 1 : after]])


def step(command: list[str], what: str, folder: Path = ROOT, stdout: int | None = None) -> None:
    """Run a command that must succeed; its own output shows what went wrong.

    In a session of its own, so that Ctrl-C does not make it tell a long story, too.
    """
    process = subprocess.Popen(command, cwd=str(folder), stdout=stdout, start_new_session=True)
    try:
        if process.wait() != 0:
            raise SetupError(f"installing {what} failed; see the lines above.")
    except KeyboardInterrupt:
        end(process)
        raise


def end(process: subprocess.Popen[bytes]) -> None:
    """End a command and what it has started."""
    if os.name == "nt":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def digest(*files: Path) -> str:
    """What a stamp remembers: the content of the files that a step depends on."""
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def read(file: Path) -> str:
    """The file's text, or nothing when there is none."""
    return file.read_text() if file.is_file() else ""


def dotted(version: tuple[int, ...]) -> str:
    """A version as people write it."""
    return ".".join(str(part) for part in version)


def say(text: str) -> None:
    """Progress, on standard error."""
    print(f"setup: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
