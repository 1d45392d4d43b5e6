"""All checks of a folder of templates, as one list of faults."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import azure.functions as func
import yaml

from functions.changes import changes
from functions.events import events
from functions.maintenance import maintenance
from shared.definitions.loading.load import load
from tests.infra.bicep.deployment import deploy, deploy_all
from tests.infra.bicep.references import Deployed, TemplateError
from tests.infra.bicep.schemas import schema_faults, unchecked_types
from tests.infra.bicep.symbols import symbol_faults, wiring_faults
from tests.infra.bicep.syntax import parse, syntax_faults
from tests.infra.flex import flex_faults
from tests.infra.names import name_faults
from tests.infra.roles import documented_roles, role_faults
from tests.infra.settings import setting_faults
from tests.infra.templates import BASE, EVERYTHING, SCENARIOS, all_templates
from tests.infra.triggers import trigger_faults
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def all_faults(infra: Path) -> list[str]:
    """Everything that is wrong with the templates of a folder."""
    faults = static_faults(infra)
    if faults:
        return faults
    for name in SCENARIOS:
        faults += [f"{name}: {fault}" for fault in scenario_faults(infra, name)]
    return faults


def static_faults(infra: Path) -> list[str]:
    """Syntax, then symbols and modules: what can be said without evaluating anything."""
    templates = [parse(path) for path in all_templates(infra)]
    broken = [fault for template in templates for fault in syntax_faults(template)]
    checks = (symbol_faults, wiring_faults, unchecked_types)
    return broken or [fault for template in templates for check in checks for fault in check(template)]


def scenario_faults(infra: Path, name: str) -> list[str]:
    """What is wrong with one deployment."""
    parameters, definitions = SCENARIOS[name]
    try:
        deployed = deploy_all(infra / "main.bicep", parameters, definitions)
    except TemplateError as error:
        return [str(error)]
    resources = deployed.resources
    faults = [*name_faults(deployed), *schema_faults(resources), *key_faults(resources), *flex_faults(resources)]
    if definitions is EVERYTHING:
        faults += setting_faults(resources, EVERYTHING)
        faults += role_faults(resources, documented_roles())
        if "existingCosmosAccount" not in parameters:
            faults += trigger_faults(triggers_of(EVERYTHING), resources)
    return faults


def key_faults(resources: Sequence[Deployed]) -> list[str]:
    """Resources that could be used with a key instead of an identity."""
    faults: list[str] = []
    for one in resources:
        properties = one.body.get("properties", {})
        for name, value in _KEYLESS.get(one.type, {}).items():
            if properties.get(name) is not value:
                faults.append(f"{one}: {name} is not {str(value).lower()}, so a key opens it")
    return faults


_KEYLESS: Mapping[str, Mapping[str, bool]] = {
    "Microsoft.Storage/storageAccounts": {"allowSharedKeyAccess": False, "allowBlobPublicAccess": False},
    "Microsoft.DocumentDB/databaseAccounts": {"disableLocalAuth": True},
    "Microsoft.EventHub/namespaces": {"disableLocalAuth": True},
    "Microsoft.Insights/components": {"DisableLocalAuth": True},
    "Microsoft.Web/sites/basicPublishingCredentialsPolicies": {"allow": False},
}


def project_deployment() -> list[Deployed]:
    """The deployment of this project's own definitions."""
    return deploy(ROOT / "infra/main.bicep", BASE)


def project_definitions() -> dict[str, Any]:
    """indexes.yaml as Bicep reads it."""
    content: dict[str, Any] = yaml.safe_load((ROOT / "indexes.yaml").read_text())
    return content


def triggers_of(definitions: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The triggers of the app for these definitions, as the runtime describes them to the host."""
    served = load(json.dumps(definitions)).require()
    app = func.FunctionApp()
    for blueprint in (changes(served, "index1"), events(served), maintenance):
        app.register_functions(blueprint)
    return bindings_of(app)


def bindings_of(app: func.FunctionApp) -> list[dict[str, Any]]:
    """The trigger of every function of an app."""
    triggers = [function.get_trigger() for function in app.get_functions()]
    return [trigger.get_dict_repr() for trigger in triggers if trigger]
