"""The checks can fail: a copy of the templates is broken in one way at a time, and each is caught."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.infra.checks import all_faults
from tests.infra.templates import INFRA
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

# File, text, what it is replaced by, what a fault must say.
BREAKS = {
    "a missing brace": ("app/identity.bicep", "  tags: tags\n}", "  tags: tags\n", "syntax error"),
    "an undefined symbol": ("app/storage.bicep", "location: location", "location: locaton", "locaton is not declared"),
    "an unused parameter": ("app/identity.bicep", "  tags: tags\n", "", "tags is declared and never used"),
    "an unknown function": ("main.bicep", "uniqueString(token", "uniqeString(token", "no function uniqeString"),
    "a name that hides another": (
        "main.bicep",
        "source => source.eventHub",
        "hubs => hubs.eventHub",
        "hides the symbol",
    ),
    "a missing module parameter": (
        "main.bicep",
        "    sku: redundancy\n",
        "",
        "indexAccounts lacks the parameter sku",
    ),
    "an unknown module parameter": (
        "main.bicep",
        "    hubs: hubs\n    part",
        "    hub: hubs\n    part",
        "no parameter hub",
    ),
    "an unknown output": ("main.bicep", "outputs.clientId", "outputs.client", "identity.bicep has no output client"),
    "an unknown property": (
        "app/storage.bicep",
        "allowSharedKeyAccess: false",
        "allowSharedKeys: false",
        "allowSharedKeys is no property",
    ),
    "a wrong value": ("app/storage.bicep", "'TLS1_2'", "'TLS12'", "minimumTlsVersion is 'TLS12', not one of"),
    "a missing required property": ("app/storage.bicep", "  kind: 'StorageV2'\n", "", ".kind is required"),
    "a read-only property": (
        "app/functions.bicep",
        "httpsOnly: true",
        "httpsOnly: true\n    state: 'Running'",
        "state is read-only",
    ),
    "a wrong API version": ("app/identity.bicep", "@2024-11-30", "@2024-11-31", "is not recorded"),
    "a wrong type": ("app/eventhubs.bicep", "capacity: 1", "capacity: '1'", "capacity is '1', not of type int"),
    "a name that is too long": ("main.bicep", "'sthost${token}'", "'storageofhost${token}'", "maxLength is 24"),
    "a setting that nothing sets": ("main.bicep", "name: 'EVENTHUB'", "name: 'EVENTHUBS'", "no template sets EVENTHUB"),
    "a setting that nothing reads": (
        "app/functions.bicep",
        "ownSettings = [\n",
        "ownSettings = [\n  {\n    name: 'INDEX_STORAG'\n    value: 'x'\n  }\n",
        "nothing reads the app setting INDEX_STORAG",
    ),
    "a setting that the plan refuses": (
        "app/functions.bicep",
        "ownSettings = [\n",
        "ownSettings = [\n  {\n    name: 'FUNCTIONS_WORKER_RUNTIME'\n    value: 'python'\n  }\n",
        "refuses the app setting FUNCTIONS_WORKER_RUNTIME",
    ),
    **{
        f"the site property {name}, which the plan refuses": (
            "app/functions.bicep",
            "minTlsVersion: '1.2'",
            f"minTlsVersion: '1.2'\n      {name}: {value}",
            f"Flex Consumption refuses siteConfig.{name}",
        )
        for name, value in {
            "ftpsState": "'Disabled'",
            "linuxFxVersion": "'PYTHON|3.13'",
            "netFrameworkVersion": "'v4.0'",
            "use32BitWorkerProcess": "false",
            "preWarmedInstanceCount": "1",
            "functionAppScaleLimit": "40",
            "functionsRuntimeScaleMonitoringEnabled": "false",
        }.items()
    },
    "another lease container": (
        "app/cosmos-access.bicep",
        "= 'leases'",
        "= 'lease'",
        "no template makes the container",
    ),
    "another key of the leases": ("app/cosmos-access.bicep", "['/id']", "['/pk']", "is not partitioned by /id"),
    "another consumer group": ("main.bicep", "= 'index-tables'", "= 'tables'", "no template makes the consumer group"),
    "no hub": ("main.bicep", "source.?eventHub != null", "source.?hub != null", "makes the event hub orders"),
    "a role too many": (
        "app/host-storage-access.bicep",
        "[storageBlobDataOwner, ",
        "[storageBlobDataOwner, '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3', ",
        "no row for Storage Table Data Contributor on host storage account",
    ),
    "a role too wide": (
        "app/cosmos-access.bicep",
        "scope: '${account.id}/dbs/${container.database}/colls/${container.name}'",
        "scope: account.id",
        "no row for Cosmos DB Built-in Data Reader on Cosmos DB account",
    ),
    "a role of our own that writes": (
        "app/cosmos-access.bicep",
        "databaseAccounts/readMetadata'",
        "databaseAccounts/*'",
        "allows more than",
    ),
    "a role missing": (
        "app/index-storage-access.bicep",
        "scope: deadLetters",
        "scope: account",
        "no template gives Storage Blob Data Contributor on container of dead letters",
    ),
    "a key that opens storage": (
        "app/storage.bicep",
        "allowSharedKeyAccess: false",
        "allowSharedKeyAccess: true",
        "a key opens it",
    ),
    "an output of what is not deployed": (
        "main.bicep",
        "isPrivate ? network",
        "!isPrivate ? network",
        "network is not deployed",
    ),
    "a name that hides the type of its resource": (
        "app/functions.bicep",
        "  name: 'ftp'\n",
        "  name: replace('ftps', 's', '')\n",
        "BCP225",
    ),
    "an empty name behind a condition": (
        "app/index-storage-access.bicep",
        "  name: deadLetterContainer\n",
        "  name: keepsDeadLetters ? deadLetterContainer : ''\n",
        "Azure takes no empty name",
    ),
    "the id of a group that is none": (
        "main.bicep",
        "'${subscription().id}/resourceGroups/${groupName}'",
        "group.id",
        "is not the id of a resource",
    ),
    "an endpoint that is there twice": (
        "main.bicep",
        "'index-${account.connection}-${service}'",
        "'host-${service}'",
        "privateendpoints/pe-host-blob is deployed twice",
    ),
    "a role that is given twice": (
        "main.bicep",
        "union(map(indexStorage, account => toLower(account.name)), [])",
        "map(indexStorage, account => toLower(account.name))",
        "is deployed twice",
    ),
    "two modules of one name": (
        "main.bicep",
        "'index-storage-${uniqueString(token, account.connection)}'",
        "'index-storage'",
        "deployments/index-storage is deployed twice",
    ),
    "a module with a long name": (
        "main.bicep",
        "'cosmos-access-${token}'",
        "'access-to-the-account-of-cosmos-db-that-holds-the-facts-of-${token}'",
        "is longer than 64",
    ),
    "a child without its parent": (
        "app/cosmos-access.bicep",
        "  parent: databaseResources[i]\n",
        "",
        "is its parent set",
    ),
}


@pytest.mark.parametrize("broken", BREAKS)
def test_a_broken_template_is_caught(broken: str, tmp_path: Path) -> None:
    """By the check that is there for it."""
    file, old, new, message = BREAKS[broken]
    copy = tmp_path / "infra"
    shutil.copytree(INFRA, copy)
    shutil.copy(ROOT / "indexes.yaml", tmp_path)
    template = copy / file
    text = template.read_text()
    assert old in text
    template.write_text(text.replace(old, new))
    faults = all_faults(copy)
    assert any(message in fault for fault in faults), faults
