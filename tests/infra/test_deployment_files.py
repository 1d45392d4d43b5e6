"""azure.yaml, its hooks, the workflow, the emulators' compose file and host.json fit the project."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from shared.sources.hub_events import EVENT_CONSUMER_GROUP, EVENT_LAG_GROUP
from tests.infra.bicep.deployment import deploy
from tests.infra.checks import project_deployment
from tests.infra.templates import BASE, INFRA
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

HOOK = "infra/hooks/check_definitions.py"


def read_yaml(path: str) -> dict[str, Any]:
    """A YAML file of the project."""
    content: dict[str, Any] = yaml.safe_load((ROOT / path).read_text())
    return content


def test_azd_finds_the_app_by_the_tag_that_the_template_gives_it() -> None:
    """And the templates where azure.yaml says they are."""
    project = read_yaml("azure.yaml")
    (service,) = project["services"]
    app = next(one for one in project_deployment() if one.type == "Microsoft.Web/sites")
    assert app.body["tags"]["azd-service-name"] == service
    assert (ROOT / project["infra"]["path"] / f"{project['infra']['module']}.bicep").is_file()


def test_azd_compiles_the_definitions_before_it_packages_the_app_whatever_the_command() -> None:
    """`azd deploy` packages, too, and runs no hook of the command `package`: only those of the service."""
    project = read_yaml("azure.yaml")
    service = project["services"]["functions"]
    assert set(service["hooks"]) == {"prepackage"}
    assert "prepackage" not in project["hooks"]
    commands = [run["run"] for run in service["hooks"]["prepackage"].values()]
    assert [command for command in commands if f"{HOOK} --compile" not in command] == []
    # Its commands run in the folder of the service, where the hook must be found.
    assert (ROOT / service["project"] / HOOK).is_file()


@pytest.mark.parametrize(
    ("event", "scripts"),
    [
        ("preprovision", [HOOK, "infra/hooks/keep_page_token_key.py"]),
        ("postdeploy", ["infra/hooks/after_deploy.py"]),
    ],
)
def test_azd_runs_the_hooks_of_the_project_on_every_platform(event: str, scripts: list[str]) -> None:
    """In this order; all of them are there."""
    hooks = read_yaml("azure.yaml")["hooks"]
    assert set(hooks) == {"preprovision", "postdeploy"}
    assert set(hooks[event]) == {"posix", "windows"}
    for run in hooks[event].values():
        assert re.findall(r"\S+\.py", run["run"]) == scripts
    assert [script for script in scripts if not (ROOT / script).is_file()] == []


def test_azd_is_new_enough_to_leave_alone_what_was_brought() -> None:
    """Before 1.24.1, `azd down` deletes resource groups that the deployment did not create."""
    assert read_yaml("azure.yaml")["requiredVersions"] == {"azd": ">= 1.24.1"}


def test_azd_is_told_which_template_this_is() -> None:
    """With the version of the project."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert read_yaml("azure.yaml")["metadata"] == {"template": f"index-tables@{version}"}


def test_azd_copies_every_variable_to_the_pipeline() -> None:
    """All but those that it sets itself, and the one that is a secret."""
    pipeline = read_yaml("azure.yaml")["pipeline"]
    variables = set(re.findall(r"\$\{(\w+)", (INFRA / "main.parameters.json").read_text()))
    assert set(pipeline["variables"]) == {name for name in variables if not name.startswith("AZURE_")} - {
        "PAGE_TOKEN_KEY"
    }
    assert pipeline["secrets"] == ["PAGE_TOKEN_KEY"]


def test_azd_monitor_finds_a_dashboard_that_leads_to_the_rest() -> None:
    """It opens what is of this type in the group of the environment."""
    resources = project_deployment()
    (dashboard,) = [one for one in resources if one.type == "Microsoft.Portal/dashboards"]
    shown = json.dumps(dashboard.body)
    for kind in ("Microsoft.Insights/workbooks", "Microsoft.Insights/components", "Microsoft.Web/sites"):
        (resource,) = [one for one in resources if one.type == kind]
        assert f"#resource{resource.id}" in shown


def test_two_hooks_may_run_at_once_on_a_machine_without_the_packages(tmp_path: Path) -> None:
    """`azd up` packages while it provisions, and each begins with the hook, which makes an environment then."""
    hook = tmp_path / HOOK
    hook.parent.mkdir(parents=True)
    shutil.copy(ROOT / HOOK, hook)
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements/local.txt").write_text("")
    script = f"import runpy; print(runpy.run_path({str(hook)!r})['interpreter']())"
    started = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    ended = [(one.communicate(timeout=120), one.returncode) for one in started]
    assert [code for _, code in ended] == [0, 0], ended
    (python,) = {output.strip() for (output, _), _ in ended}
    assert subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=True).stdout
    assert [path.name for path in tmp_path.iterdir() if "making" in path.name] == []


def run_hook(*arguments: str, definitions: str = "indexes.yaml") -> subprocess.CompletedProcess[str]:
    """The hook as azd runs it; `INDEX_DEFINITIONS` chooses the file."""
    environment = {"INDEX_DEFINITIONS": definitions, "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", _HOOK_WITH_THIS_PYTHON, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


# The hook, but with the packages of the tests' own environment instead of one that it would have to make.
_HOOK_WITH_THIS_PYTHON = f"""
import pathlib, runpy, sys
hook = runpy.run_path({HOOK!r})
hook["main"].__globals__["interpreter"] = lambda: pathlib.Path(sys.executable)
sys.exit(hook["main"]())
"""


def test_the_hook_lets_good_definitions_pass() -> None:
    """Exit 0."""
    done = run_hook()
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_the_hook_stops_what_the_templates_would_not_make(tmp_path: Path) -> None:
    """A definitions file with an event hub that indexes.yaml, which the templates read, does not name."""
    other = tmp_path / "other.yaml"
    other.write_text("version: 1\nsources: {returns: {eventHub: returns}}\nindexes: {}\n")
    done = run_hook(definitions=str(other))
    assert done.returncode == 1
    assert "The templates make no event hub" in done.stdout


WORKFLOWS = (".github/workflows/deploy.yml", ".github/workflows/azure-dev.yml")


def workflow_environment(workflow: str) -> dict[str, str]:
    """The variables of the workflow's step that runs `azd up`: those of its job and its own."""
    job = read_yaml(workflow)["jobs"]["deploy"]
    (step,) = [one for one in job["steps"] if "azd up" in one.get("run", "")]
    return {**job["env"], **step["env"]}


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_the_workflow_logs_in_without_a_secret(workflow: str) -> None:
    """With a token of its own run. The one secret that it may be given opens nothing: it seals page tokens."""
    text = (ROOT / workflow).read_text()
    assert re.findall(r"secrets\.(\w+)", text) == ["PAGE_TOKEN_KEY"]
    assert yaml.safe_load(text)["permissions"] == {"id-token": "write", "contents": "read"}


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_only_the_step_that_deploys_sees_the_secret(workflow: str) -> None:
    """Actions of others run in the same job."""
    job = read_yaml(workflow)["jobs"]["deploy"]
    assert "PAGE_TOKEN_KEY" not in job["env"]


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_the_workflow_passes_every_variable_of_the_parameters_file(workflow: str) -> None:
    """Otherwise an environment that was made with other values would be deployed again with the defaults."""
    variables = set(re.findall(r"\$\{(\w+)", (INFRA / "main.parameters.json").read_text()))
    # azd finds out itself who deploys.
    variables -= {"AZURE_PRINCIPAL_ID", "AZURE_PRINCIPAL_TYPE"}
    passed = workflow_environment(workflow)
    assert sorted(variables - passed.keys()) == []
    by_name = {name: passed[name] for name in variables - {"AZURE_ENV_NAME", "PAGE_TOKEN_KEY"}}
    assert by_name == {name: f"${{{{ vars.{name} }}}}" for name in by_name}


def test_the_emulators_are_on_loopback() -> None:
    """Their keys are public."""
    services = read_yaml("infra/emulators/compose.yaml")["services"]
    ports = [port for service in services.values() for port in service["ports"]]
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


def test_every_hub_of_the_emulator_has_our_consumer_groups() -> None:
    """One to read in, one to see how far behind it is; without the second the lag of a hub is unknown."""
    (namespace,) = json.loads((INFRA / "emulators/eventhubs.json").read_text())["UserConfig"]["NamespaceConfig"]
    groups = [{group["Name"] for group in hub["ConsumerGroups"]} for hub in namespace["Entities"]]
    assert groups
    assert [names for names in groups if names != {EVENT_CONSUMER_GROUP, EVENT_LAG_GROUP}] == []


def test_the_docs_name_the_consumer_groups_of_a_hub() -> None:
    """Where they say what is created."""
    section = (ROOT / "docs/deploy.md").read_text().partition("## What is created")[2].partition("\n## ")[0]
    assert f"`{EVENT_CONSUMER_GROUP}`" in section
    assert f"`{EVENT_LAG_GROUP}`" in section


def test_every_variable_of_the_parameters_file_is_documented() -> None:
    """They are what people set with `azd env set`; azd itself sets the first two."""
    variables = set(re.findall(r"\$\{(\w+)", (INFRA / "main.parameters.json").read_text()))
    text = (ROOT / "docs/parameters.md").read_text()
    assert [name for name in sorted(variables - {"AZURE_ENV_NAME"}) if f"`{name}`" not in text] == []


def test_the_docs_turn_on_the_feed_of_hard_deletes_for_new_accounts_too() -> None:
    """Azure takes the feature only for an account that is there, so no template can set it."""
    section = (ROOT / "docs/deploy.md").read_text().partition("### Hard deletes")[2].partition("\n## ")[0]
    body = re.search(r"az rest --method patch .*?--body '([^']+)'", section, re.DOTALL)
    assert body
    assert json.loads(body[1]) == {"properties": {"enableAllVersionsAndDeletesChangeFeed": True}}
    assert min(re.findall(r"api-version=([\w-]+)", section)) >= "2024-12-01-preview"
    assert "4.16.1" in section


def test_the_docs_register_an_app_whose_tokens_have_the_issuer_of_the_template() -> None:
    """Entra ID gives an API tokens of version 1, with another issuer, unless its registration asks for version 2."""
    asked = deploy(INFRA / "main.bicep", {**BASE, "entraClientId": "mine"})
    (config,) = [one.body["properties"] for one in asked if one.name.endswith("/authsettingsV2")]
    issuer = config["identityProviders"]["azureActiveDirectory"]["registration"]["openIdIssuer"]
    section = (ROOT / "docs/deploy.md").read_text().partition("### Callers with tokens")[2].partition("\n### ")[0]
    assert re.findall(r"az ad app create .*--requested-access-token-version (\d)", section) == ["2"]
    assert issuer.endswith("/v2.0")


def leaves(prefix: str, value: Any) -> list[str]:
    """The paths of all values in nested objects."""
    if not isinstance(value, dict):
        return [prefix]
    return [leaf for key, item in value.items() for leaf in leaves(f"{prefix}.{key}".strip("."), item)]


@pytest.mark.parametrize("path", leaves("", json.loads((ROOT / "host.json").read_text())))
def test_every_setting_of_host_json_is_explained(path: str) -> None:
    """JSON has no comments, so docs/deploy.md has a row for each, or for its section."""
    section = (ROOT / "docs/deploy.md").read_text().partition("## host.json")[2].partition("\n## ")[0]
    explained = re.findall(r"^\| `([\w.]+)` \|", section, re.MULTILINE)
    assert any(f"{path}.".startswith(f"{name}.") for name in explained)
