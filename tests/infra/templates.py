"""Where the templates are, and the deployments that the tests look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

INFRA: Final = ROOT / "infra"


def all_templates(folder: Path = INFRA) -> list[Path]:
    """Every Bicep file."""
    return sorted(folder.rglob("*.bicep"))


# The person who deploys, as `azd` would name them.
DEPLOYER: Final = "11111111-2222-3333-4444-555555555555"
BASE: Final[dict[str, Any]] = {"environmentName": "demo", "location": "westeurope"}

# Definitions that need everything that templates can make: two databases, a key of two paths, hard deletes, hubs, and
# all three forms of placement.
EVERYTHING: Final[dict[str, Any]] = {
    "version": 1,
    "sources": {
        "customers": {"cosmos": {"database": "shop", "container": "customers"}, "partitionKey": "customerId"},
        "movies": {
            "cosmos": {"database": "media", "container": "movies"},
            "partitionKey": ["studio.id", '"genre"'],
            "deletes": {"feed": "allVersions"},
        },
        "orders": {"eventHub": "orders", "partitionKey": "customer.id", "version": "revision"},
        "returns": {"eventHub": "returns"},
        "refunds": {"eventHub": "returns", "events": {"when": "type == 'refund'", "id": "data.id", "document": "data"}},
    },
    "indexes": {
        "by-town": {"source": "customers", "partition": "town"},
        "hashed": {
            "source": "orders",
            "partition": "a",
            "placement": {"by": "hash", "accounts": ["INDEX_1", "INDEX_2"]},
        },
        "listed": {
            "source": "orders",
            "partition": "b",
            "placement": {"by": "list", "map": {"x": "INDEX_2"}, "default": "INDEX_3"},
        },
        "ranged": {
            "source": "orders",
            "partition": "c",
            "placement": {
                "by": "range",
                "map": [{"to": "m", "account": "INDEX_1"}, {"from": "m", "account": "INDEX_4"}],
            },
        },
    },
}

# Parameters that take every branch of the templates, together with EVERYTHING or the definitions of this project.
SCENARIOS: Final[dict[str, tuple[dict[str, Any], dict[str, Any] | None]]] = {
    "as it comes": (BASE, None),
    "everything": (BASE, EVERYTHING),
    "private, mailed, scaled": (
        {
            **BASE,
            "isPrivateApp": True,
            "allowedAddresses": ["203.0.113.0/24"],
            "auditLogs": True,
            "entraClientId": "22222222-2222-3333-4444-555555555555",
            "alertEmail": "operators@example.com",
            "principalId": DEPLOYER,
            "cosmosCapacity": "autoscale",
            "eventHubsSku": "Premium",
            "alwaysReady": [{"name": "http", "instanceCount": 1}],
            "appSettings": {"INDEX_DEFINITIONS": "indexes.yaml"},
        },
        EVERYTHING,
    ),
    "private, with a secondary": (
        {
            **BASE,
            "usePrivateNetwork": True,
            "indexStorageSku": "Standard_RAGZRS",
            "appSettings": {"READ_SECONDARY": "true"},
        },
        EVERYTHING,
    ),
    "all brought along": (
        {
            **BASE,
            # Two connections lead to one account, which Azure finds in whatever case.
            "existingIndexStorage": {
                "INDEX_STORAGE": {"name": "mystorage", "resourceGroup": "mine"},
                "INDEX_1": {"name": "MyStorage", "resourceGroup": "mine"},
            },
            "existingCosmosAccount": "mycosmos",
            "existingCosmosResourceGroup": "mine",
            "existingEventHubsNamespace": "myhubs",
            "existingEventHubsResourceGroup": "mine",
        },
        EVERYTHING,
    ),
}
