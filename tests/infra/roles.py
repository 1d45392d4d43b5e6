"""The roles that a deployment gives to the app's identity, and the table of them in docs/deploy.md."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tests.infra.templates import DEPLOYER
from tests.support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.infra.bicep.references import Deployed

ASSIGNMENT: Final = "Microsoft.Authorization/roleAssignments"
COSMOS_ASSIGNMENT: Final = "Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments"
COSMOS_DEFINITION: Final = "Microsoft.DocumentDB/databaseAccounts/sqlRoleDefinitions"

# All that the role of our own may do.
METADATA: Final = "Microsoft.DocumentDB/databaseAccounts/readMetadata"

# Microsoft's built-in roles by their ids, and our one by its name.
ROLES: Final = {
    "b7e6dc6d-f1e8-4753-8033-0f276bb0955b": "Storage Blob Data Owner",
    "ba92f5b4-2d11-453d-a403-e96b0029c9fe": "Storage Blob Data Contributor",
    "974c5e8b-45b9-4653-ba55-5f855dd0fb88": "Storage Queue Data Contributor",
    "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3": "Storage Table Data Contributor",
    "3913510d-42f4-4e42-8a64-420c390055eb": "Monitoring Metrics Publisher",
    "a638d3c7-ab3a-418d-83e6-5f17a39d4fde": "Azure Event Hubs Data Receiver",
    "76199698-9eea-4c19-bc75-cec21354c6b6": "Storage Table Data Reader",
    "2b629674-e913-4c01-ae53-ef4638d8f975": "Azure Event Hubs Data Sender",
    "00000000-0000-0000-0000-000000000001": "Cosmos DB Built-in Data Reader",
    "00000000-0000-0000-0000-000000000002": "Cosmos DB Built-in Data Contributor",
}
# What a scope is, by how its id ends.
_SCOPES: Final = {
    r"storageAccounts/sthost\w+$": "host storage account",
    r"containers/packages$": "container of packages",
    r"storageAccounts/\w+$": "index storage account",
    r"containers/dead-letters$": "container of dead letters",
    r"Microsoft.Insights/components/[\w-]+$": "Application Insights",
    r"eventhubs/[\w-]+$": "event hub",
    r"databaseAccounts/[\w-]+$": "Cosmos DB account",
    r"colls/leases$": "lease container",
    r"colls/[\w-]+$": "container of facts",
}
_ROW: Final = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def given_roles(resources: Sequence[Deployed], *, to_deployer: bool = False) -> set[tuple[str, str]]:
    """The role and the kind of its scope, for every assignment to the app, or to the person who deploys."""
    custom = {one.id: str(one.body["properties"]["roleName"]) for one in resources if one.type == COSMOS_DEFINITION}
    return {
        (_role(str(one.body["properties"]["roleDefinitionId"]), custom), _scope(_scope_id(one)))
        for one in resources
        if one.type in {ASSIGNMENT, COSMOS_ASSIGNMENT}
        and (one.body["properties"]["principalId"] == DEPLOYER) is to_deployer
    }


def _role(definition_id: str, custom: dict[str, str]) -> str:
    role = definition_id.rpartition("/")[2]
    return custom.get(definition_id) or ROLES.get(role, f"unknown role {role}")


def _scope_id(assignment: Deployed) -> str:
    return assignment.scope if assignment.type == ASSIGNMENT else str(assignment.body["properties"]["scope"])


def _scope(resource_id: str) -> str:
    return next((what for end, what in _SCOPES.items() if re.search(end, resource_id)), f"unknown scope {resource_id}")


def _actions(definition: Deployed) -> list[str]:
    permissions = definition.body["properties"]["permissions"]
    return [action for one in permissions for actions in one.values() for action in actions]


def documented_roles(heading: str = "## Roles") -> dict[tuple[str, str], str]:
    """The rows of a table in docs/deploy.md: role and scope, with who needs it; people's own roles come below it."""
    text = (ROOT / "docs/deploy.md").read_text()
    section = re.split(r"\n##+ ", text.partition(f"\n{heading}\n")[2], maxsplit=1)[0]
    rows = [(role.strip(), scope.strip(), needs.strip()) for role, scope, needs in _ROW.findall(section)]
    return {(role, scope): needs for role, scope, needs in rows if role not in {"role", "---"}}


def role_faults(resources: Sequence[Deployed], documented: Iterable[tuple[str, str]]) -> list[str]:
    """Roles that are given and not in the table, and the other way round."""
    given, wanted = given_roles(resources), set(documented)
    custom = [one for one in resources if one.type == COSMOS_DEFINITION]
    return [
        *(f"{one} allows more than {METADATA}" for one in custom if _actions(one) != [METADATA]),
        *(f"the table has no row for {role} on {scope}" for role, scope in sorted(given - wanted)),
        *(f"no template gives {role} on {scope}" for role, scope in sorted(wanted - given)),
    ]
