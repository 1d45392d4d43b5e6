"""Files beside the code stay true to it."""

from __future__ import annotations

import fnmatch
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from local.run import services
from local.run.setup import DEPLOYED_PYTHON, OLDEST_NODE, OLDEST_PYTHON, dotted
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.y*ml"))
# An action at a commit, with its version for people.
PINNED_ACTION = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
# What Azure runs: the app, what it imports and what it reads.
DEPLOYED = {"function_app.py", "functions", "shared", "host.json", "requirements.txt", "indexes.yaml"}


def tracked_top_level_names() -> set[str]:
    """The names at the root of the repository."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return {line.partition("/")[0] for line in listed.stdout.splitlines()}


def test_only_what_runs_in_azure_is_deployed() -> None:
    """`.funcignore` names everything else at the root."""
    patterns = [line.strip("/") for line in (ROOT / ".funcignore").read_text().splitlines() if line and line[0] != "#"]
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


def test_the_data_of_a_local_run_is_not_deployed_whatever_its_folder_is_called(tmp_path: Path) -> None:
    """`--data` names any folder; facts, keys and certificates are in it."""
    paths = [
        str(folder / name)
        for folder in (Path("mine"), Path("demo/second"))
        for name in (
            *("keys.json", "token.key", "endpoints.json", "lock", "definitions/indexes.yaml", "logs/host.log"),
            *("azurite/__azurite_db_table__.json", "azurite/__blobstorage__/1"),
            *("cosmos/cosmos.db", "cosmos/cosmos.db-wal", "cosmos/cosmos-certificate.pem", "eventhubs/eventhubs.db"),
        )
    ]
    assert ignored(".funcignore", paths, tmp_path) == set(paths)


def test_what_tools_leave_beside_the_code_is_not_deployed(tmp_path: Path) -> None:
    """`azd restore` installs the project into an environment in its folder, and leaves a copy in `build`."""
    paths = [
        "build/lib/shared/errors.py",
        "dist/a.whl",
        "index_tables.egg-info/PKG-INFO",
        "index-tables_env/pyvenv.cfg",
    ]
    assert ignored(".funcignore", paths, tmp_path) == set(paths)


def test_every_tracked_file_of_the_app_is_deployed(tmp_path: Path) -> None:
    """No pattern for something else catches it."""
    listed = subprocess.run(
        ["git", "ls-files", "functions", "shared", *DEPLOYED], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ignored(".funcignore", listed.stdout.splitlines(), tmp_path) == set()


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


def packages(name: str) -> dict[str, list[str]]:
    """The hashes of each package that a compiled list has, by the package as pinned."""
    found: dict[str, list[str]] = {}
    for line in (ROOT / name).read_text().splitlines():
        if line and not line.startswith((" ", "#")):
            package = line.removesuffix("\\").strip()
            found[package] = []
        elif "--hash=" in line:
            found[package].append(line)
    return found


def wanted(name: str) -> set[str]:
    """The packages that are asked for, without those of the lists that it includes."""
    lines = [line.partition("#")[0].strip() for line in (ROOT / "requirements" / name).read_text().splitlines()]
    return {line for line in lines if line and not line.startswith("-r ")}


@pytest.mark.parametrize(
    "name", ["requirements.txt", "requirements/local.txt", "requirements/tests.txt", "requirements/docs.txt"]
)
def test_every_package_is_pinned_with_hashes(name: str) -> None:
    """The same files on every machine, also of what a package needs in turn."""
    assert [package for package, hashes in packages(name).items() if "==" not in package or not hashes] == []


@pytest.mark.parametrize(
    ("name", "compiled"),
    [
        ("app.in", "requirements/local.txt"),
        ("tests.in", "requirements/tests.txt"),
        ("docs.in", "requirements/docs.txt"),
    ],
)
def test_what_is_asked_for_is_in_the_compiled_list(name: str, compiled: str) -> None:
    """`make lock` was not forgotten."""
    pinned = {package.partition(" ;")[0].lower().replace("_", "-") for package in packages(compiled)}
    asked = {package.partition(";")[0].strip().lower().replace("_", "-") for package in wanted(name)}
    assert asked <= pinned


def test_a_build_with_another_python_than_the_deployed_one_fails() -> None:
    """Azure has built with an older Python than the app runs with; packages for that one would not load."""
    (deployed,) = [package for package in packages("requirements.txt") if package.startswith("azure-functions==")]
    assert [package for package in packages("requirements.txt") if ";" in package] == []
    if sys.version_info[:2] >= DEPLOYED_PYTHON:
        assert deployed == f"azure-functions=={importlib.metadata.version('azure-functions')}"
        installs_on = importlib.metadata.metadata("azure-functions")["Requires-Python"]
        assert installs_on == f">={dotted(DEPLOYED_PYTHON)}"


@pytest.mark.skipif(sys.version_info[:2] < DEPLOYED_PYTHON, reason="older versions of Python have an older SDK")
def test_the_tests_run_with_the_deployed_packages() -> None:
    """The very versions."""
    deployed = dict(package.split("==") for package in packages("requirements.txt"))
    assert {name: importlib.metadata.version(name) for name in deployed} == deployed


def test_the_azurite_of_the_lock_file_is_the_one_asked_for() -> None:
    """An exact version, in both files."""
    wanted = json.loads((ROOT / "local/package.json").read_text())["dependencies"]["azurite"]
    locked = json.loads((ROOT / "local/package-lock.json").read_text())["packages"]["node_modules/azurite"]["version"]
    assert wanted == locked


def test_the_images_of_emulators_are_pinned() -> None:
    """A version each; that of Azurite is the one that the local run has."""
    services_of_file = yaml.safe_load((ROOT / "infra/emulators/compose.yaml").read_text())["services"]
    images = dict(service["image"].rsplit("/", 1)[1].split(":") for service in services_of_file.values())
    assert [name for name, tag in images.items() if not re.search(r"\d", tag)] == []
    wanted = json.loads((ROOT / "local/package.json").read_text())["dependencies"]["azurite"]
    assert images["azurite"] == wanted


def test_the_page_of_licenses_has_every_deployed_package() -> None:
    """With the deployed version: `make licenses` was not forgotten."""
    listed = set(re.findall(r"^\| ([\w.-]+) \| ([\w.]+) \|", (ROOT / "docs/licenses.md").read_text(), re.MULTILINE))
    vendored = json.loads((ROOT / "shared/web/vendor/vendored.json").read_text())
    deployed = {tuple(package.split("==")) for package in packages("requirements.txt")}
    assert listed - {("package", "version")} == deployed | {(one["name"], one["version"]) for one in vendored}


def test_the_list_of_parts_has_the_scripts_of_the_pages_and_says_of_what_it_is(tmp_path: Path) -> None:
    """The tool that makes it sees installed packages only. CycloneDX's own schema takes the result."""
    (recipe,) = re.findall(r"^sbom: deployed\n((?:\t.+\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe.rstrip().endswith(".ci/sbom.py dist/index-tables.cdx.json")
    file = tmp_path / "parts.json"
    file.write_text('{"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": []}')
    subprocess.run([sys.executable, str(ROOT / ".ci/sbom.py"), str(file)], check=True)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(file.read_text()) is None
    listed = json.loads(file.read_text())
    assert listed["metadata"]["component"]["version"] == project()["version"]
    vendored = json.loads((ROOT / "shared/web/vendor/vendored.json").read_text())
    found = {(one["name"], one["version"]): one for one in listed["components"]}
    for package in vendored:
        parts = found[package["name"], package["version"]]["components"]
        hashes = {part["name"].partition("vendor/")[2]: part["hashes"][0]["content"] for part in parts}
        assert hashes == {name: one["sha256"] for name, one in package["files"].items()}


def test_every_command_of_the_makefile_is_documented() -> None:
    """A contributor finds each of them."""
    targets = set(re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[0].split())
    page = (ROOT / "CONTRIBUTING.md").read_text()
    assert [
        target for target in sorted(targets - {"setup", "setup-tests", "setup-docs"}) if f"make {target}" not in page
    ] == []


def project() -> dict[str, Any]:
    """What pyproject.toml says of the project."""
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return table


def test_the_clients_have_the_version_of_the_project() -> None:
    """So that one can tell which fits which."""
    of_python = tomllib.loads((ROOT / "clients/python/pyproject.toml").read_text())["project"]["version"]
    of_typescript = json.loads((ROOT / "clients/typescript/package.json").read_text())["version"]
    assert (of_python, of_typescript) == (project()["version"], project()["version"])


def test_the_project_puts_nothing_into_site_packages_of_others() -> None:
    """`shared`, `local` and `cli` are names that they use themselves; the name `index-tables` is the client's."""
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert (setuptools["packages"], setuptools["py-modules"]) == ([], [])
    assert project()["name"] != "index-tables"
    assert "scripts" not in project()


def workflow(file: Path) -> dict[str, Any]:
    """A workflow, as GitHub reads it."""
    parsed: dict[str, Any] = yaml.safe_load(file.read_text())
    return parsed


def ci() -> dict[str, Any]:
    """The workflow that checks changes."""
    return workflow(ROOT / ".github/workflows/ci.yml")


def used_actions(file: Path) -> Iterator[str]:
    """Every action of a workflow, in the order of the file."""
    for job in workflow(file)["jobs"].values():
        yield from (part["uses"] for part in (job, *job.get("steps", ())) if "uses" in part)


def test_every_action_is_pinned_by_its_commit() -> None:
    """A tag can be moved to other code; a commit cannot."""
    written = [line for file in WORKFLOWS for line in re.findall(r"uses: *(.+)", file.read_text())]
    assert [line.partition(" ")[0] for line in written] == [name for file in WORKFLOWS for name in used_actions(file)]
    assert written
    assert [line for line in written if not PINNED_ACTION.fullmatch(line)] == []


def test_an_action_has_one_version_in_all_workflows() -> None:
    """So that an update misses none of them."""
    pins = {name for file in WORKFLOWS for name in used_actions(file)}
    assert len(pins) == len({pin.partition("@")[0] for pin in pins})


def test_ci_runs_with_the_least_rights_and_ends() -> None:
    """It runs the code of people who may not write to the repository."""
    assert ci()["permissions"] == {"contents": "read"}
    assert "secrets." not in (ROOT / ".github/workflows/ci.yml").read_text()
    assert [name for name, job in ci()["jobs"].items() if "timeout-minutes" not in job] == []


def test_ci_tests_the_pythons_of_the_local_checks() -> None:
    """The oldest that is supported, and the one that is deployed."""
    script = (ROOT / ".ci/run").read_text()
    tested = [run["python"] for run in ci()["jobs"]["test"]["strategy"]["matrix"]["include"]]
    assert tested == [dotted(OLDEST_PYTHON), dotted(DEPLOYED_PYTHON)]
    assert sorted(tested) == sorted(re.findall(r"\$\(find_python ([\d.]+)\)", script))
    assert project()["requires-python"] == f">={tested[0]}"


def test_ci_runs_the_tests_of_the_local_checks() -> None:
    """Some of them on the oldest Python, all of them on the deployed one."""
    (on_the_oldest,) = re.findall(r'PYTEST="(.+)"', (ROOT / ".ci/run").read_text())
    runs = ci()["jobs"]["test"]["strategy"]["matrix"]["include"]
    assert [run["tests"] for run in runs] == [on_the_oldest, ""]


def test_ci_installs_what_is_deployed_by_its_hashes() -> None:
    """With pip's own check, and starts the app with nothing else."""
    steps = ci()["jobs"]["deployed"]["steps"]
    assert [step["run"] for step in steps if "run" in step] == ["make deployed PYTHON=python3.13"]
    (recipe,) = re.findall(r"^deployed: setup-tests\n((?:\t.+\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert "--require-hashes --requirement requirements.txt" in recipe
    assert "import function_app" in recipe


def test_ci_compiles_the_templates_of_a_pull_request() -> None:
    """With the real compiler, whose absence is a failure there."""
    steps = ci()["jobs"]["templates"]["steps"]
    (step,) = [step for step in steps if "tests/infra/test_compiler.py" in step.get("run", "")]
    assert step["env"] == {"REQUIRE_BICEP": "true"}
    assert re.search(r"^  pull_request:", (ROOT / ".github/workflows/ci.yml").read_text(), re.MULTILINE)


def test_the_hooks_before_a_commit_are_the_commands_of_lint() -> None:
    """From the same environment, and nothing from elsewhere."""
    (recipe,) = re.findall(r"^lint: setup-tests\n((?:\t.+\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    commands = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe.splitlines()]
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local"
    assert [hook["entry"] for hook in repository["hooks"]] == commands
    assert [hook["id"] for hook in repository["hooks"] if hook["pass_filenames"]] == []


def test_the_version_is_that_of_the_newest_section_of_the_changelog() -> None:
    """Sections are dated, the newest first, below what is not released."""
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    releases = [re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)", heading) for heading in headings[1:]]
    found = [(release[2], tuple(map(int, release[1].split(".")))) for release in releases if release]
    assert len(found) == len(releases)
    assert found == sorted(found, reverse=True)
    assert dotted(found[0][1]) == project()["version"]


def test_the_development_container_forwards_the_ports_of_the_local_run() -> None:
    """Each with a name."""
    folder = Path("any")
    programs = [
        services.function_host(folder, {}),
        services.cosmos(folder),
        services.event_hubs(folder, []),
        services.storage(None),
    ]
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    assert container["forwardPorts"] == [port for program in programs for port in program.usual_ports]
    assert list(container["portsAttributes"]) == [str(port) for port in container["forwardPorts"]]


def test_the_development_container_has_the_deployed_python_and_a_node_that_is_new_enough() -> None:
    """And sets up what the tests need."""
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    (node,) = [options for name, options in container["features"].items() if "/node:" in name]
    assert f"/python:{dotted(DEPLOYED_PYTHON)}-" in container["image"]
    assert int(node["version"]) >= OLDEST_NODE
    assert container["postCreateCommand"] == "make setup-tests"


def test_the_folders_of_tests_that_contributors_read_of_exist() -> None:
    """CONTRIBUTING.md describes each kind of test."""
    named = re.findall(r"^\| `(tests/\w+)` \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    assert named
    assert [folder for folder in named if not (ROOT / folder).is_dir()] == []


def test_every_form_for_issues_asks_for_something() -> None:
    """GitHub ignores a form without these keys."""
    forms = [file for file in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if file.name != "config.yml"]
    assert {file.stem for file in forms} == {"bug_report", "feature_request"}
    for file in forms:
        form = yaml.safe_load(file.read_text())
        assert form.keys() >= {"name", "description", "body"}
        assert any(part["type"] != "markdown" for part in form["body"])
