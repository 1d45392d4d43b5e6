"""`validate --infra`: what the templates in infra/ could not deploy, found before Azure is asked.

The templates make what their own definitions file names. So names must be ones that Azure takes, their number must fit
the tier that the parameters choose, and a definitions file that the templates do not read must name nothing more.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from cli.azure_names import accounts_of, check_names
from cli.errors import UsageError
from cli.own_storage import check_own_storage
from cli.regions import check_region
from shared.app import settings
from shared.definitions.files import read_definitions
from shared.definitions.loading.document import parse
from shared.definitions.loading.findings import Findings
from shared.definitions.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from shared.definitions.loading.findings import Finding, KeyPath
    from shared.definitions.model import Definitions

_MAIN: Final = "main.bicep"
_PARAMETERS: Final = "main.parameters.json"
# Beside the folder of the templates, where the app has its definitions.
_READS: Final = re.compile(r"loadYamlContent\('\.\./([^'/]+)'\)")
_VARIABLE: Final = re.compile(r"\$\{(\w+)(?:=([^}]*))?\}")
# Quotas of Event Hubs: hubs of one namespace (Premium: of one processing unit, which is what the templates make).
_HUBS_MAX: Final = {"Standard": 10, "Premium": 100}
# A Cosmos DB database whose containers share throughput takes this many, with the lease container.
_SHARING_CONTAINERS_MAX: Final = 25


@dataclass(frozen=True, slots=True)
class Templates:
    """A folder of templates: the definitions that they read, and the parameters that they are given."""

    folder: Path
    definitions_file: Path
    parameters: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path, environment: Mapping[str, str] = os.environ) -> Templates:
        """The templates of a folder, with parameters as `azd` would fill them in."""
        try:
            reads = _READS.search((folder / _MAIN).read_text(encoding="utf-8"))
            given = json.loads((folder / _PARAMETERS).read_text(encoding="utf-8"))["parameters"]
        except OSError as error:
            raise UsageError(f"{folder} has no templates ({error.strerror}: {error.filename}): name infra/") from error
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{folder / _PARAMETERS} is not a parameters file: {error}") from error
        if reads is None:
            raise UsageError(f"{folder / _MAIN} reads no definitions: it calls loadYamlContent nowhere")
        values = {name: _filled(parameter.get("value"), environment) for name, parameter in given.items()}
        return cls(folder, folder.parent / reads[1], values)


def _filled(value: Any, environment: Mapping[str, str]) -> Any:
    """A parameter's value with `${NAME=default}` replaced, which only texts have."""
    if not isinstance(value, str):
        return value
    return _VARIABLE.sub(lambda match: environment.get(match[1]) or match[2] or "", value)


def infra_faults(file: Path, definitions: Definitions, templates: Templates) -> tuple[Finding, ...]:
    """What keeps these definitions, which have no fault of their own, from being deployed with these templates."""
    if not file.is_file():
        raise UsageError(f"{file} is a pipe, which can be read only once: give --infra a file")
    findings = Findings(str(file))
    # Only for the lines of its keys.
    parse(file.read_text(encoding="utf-8").removeprefix("\ufeff"), findings)
    check_names(definitions, findings, makes_containers=not templates.parameters.get("existingCosmosAccount"))
    check_region(templates.parameters, templates.folder, findings)
    placed = {account for index in definitions.indexes.values() for account in accounts_of(index)}
    check_own_storage(templates.parameters.get("existingIndexStorage"), placed, findings)
    _check_tiers(definitions, templates.parameters, findings)
    _check_existing(templates.parameters, findings)
    if not templates.definitions_file.exists() or not file.samefile(templates.definitions_file):
        _check_made(definitions, templates, findings)
    return tuple(sorted(findings.faults, key=lambda finding: finding.line))


def _check_tiers(definitions: Definitions, parameters: Mapping[str, Any], findings: Findings) -> None:
    tier = str(parameters.get("eventHubsSku", "Standard"))
    hubs = definitions.hubs()
    most = _HUBS_MAX.get(tier)
    if most is None:
        fix = f"Set EVENTHUBS_SKU to one of {', '.join(_HUBS_MAX)}."
        findings.fault((), f'the templates have no tier "{tier}" of Event Hubs', fix)
    elif len(hubs) > most and not parameters.get("existingEventHubsNamespace"):
        what = f"{len(hubs)} event hubs do not fit into a {tier} namespace, which takes {most}"
        findings.fault(("sources",), what, "Use fewer hubs, EVENTHUBS_SKU=Premium, or a namespace of your own.")
    if parameters.get("cosmosCapacity") == "autoscale" and not parameters.get("existingCosmosAccount"):
        _check_sharing(definitions, findings)


def _check_sharing(definitions: Definitions, findings: Findings) -> None:
    containers: dict[str, set[str]] = {}
    for source in definitions.sources.values():
        if source.cosmos:
            containers.setdefault(source.cosmos.database, set()).add(source.cosmos.container)
    for database, names in containers.items():
        if len(names) >= _SHARING_CONTAINERS_MAX:
            what = f"the database {database} has {len(names)} containers and one for leases; with shared throughput "
            what += f"it takes {_SHARING_CONTAINERS_MAX}"
            findings.fault(("sources",), what, "Spread them over databases, or use COSMOS_CAPACITY=serverless.")


def _check_existing(parameters: Mapping[str, Any], findings: Findings) -> None:
    for name, group in (
        ("existingCosmosAccount", "existingCosmosResourceGroup"),
        ("existingEventHubsNamespace", "existingEventHubsResourceGroup"),
    ):
        if parameters.get(name) and not parameters.get(group):
            findings.fault((), f"the parameter {name} is given without {group}", "Say which resource group it is in.")


def _check_made(definitions: Definitions, templates: Templates, findings: Findings) -> None:
    """Everything that the file names must be named by the file that the templates read, too."""
    loaded = read_definitions(templates.definitions_file)
    if loaded.faults:
        findings.fault((), f"the templates read {templates.definitions_file}, which has faults", "Fix that file first.")
        return
    made = {*needed(loaded.definitions), ("storage account", settings.INDEX_STORAGE.name)}
    for (kind, name), path in needed(definitions).items():
        if (kind, name) not in made:
            near = did_you_mean(name, [other for same, other in made if same == kind])
            what = f'the templates make no {kind} "{name}": they read {templates.definitions_file}'
            findings.fault(path, what, f"Name it there. {near}")


def needed(definitions: Definitions) -> dict[tuple[str, str], KeyPath]:
    """The kind and name of everything in Azure that definitions need, with the key path that first says so."""
    found: dict[tuple[str, str], KeyPath] = {}
    for name, source in definitions.sources.items():
        if source.cosmos:
            container = f"{source.cosmos.database}/{source.cosmos.container}"
            found.setdefault(("container", container), ("sources", name, "cosmos"))
        if source.event_hub:
            found.setdefault(("event hub", source.event_hub), ("sources", name, "eventHub"))
    for name, index in definitions.indexes.items():
        for account in sorted(accounts_of(index)):
            found.setdefault(("storage account", account), ("indexes", name, "placement"))
    return found
