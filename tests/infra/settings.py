"""The app settings that a deployment sets, beside those that the code reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shared.app import settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.infra.bicep.references import Deployed

# Read by the platform, never by the product.
PLATFORM: Final = {
    "AzureWebJobsStorage",
    "APPLICATIONINSIGHTS_CONNECTION_STRING",
    "APPLICATIONINSIGHTS_AUTHENTICATION_STRING",
    "OTEL_TRACES_SAMPLER",
    "OTEL_TRACES_SAMPLER_ARG",
}
# The property that carries the address, for connections that are not to storage.
_ADDRESSES: Final = {
    settings.COSMOS.name: "accountEndpoint",
    settings.EVENTHUB.name: "fullyQualifiedNamespace",
}


def app_settings(resources: Iterable[Deployed]) -> dict[str, str]:
    """The app settings of the deployed function app."""
    app = next(resource for resource in resources if resource.type == "Microsoft.Web/sites")
    return {one["name"]: one["value"] for one in app.body["properties"]["siteConfig"]["appSettings"]}


def connections(definitions: Mapping[str, Any]) -> set[str]:
    """The connections that placements name, whatever their form."""
    placements = [index["placement"] for index in definitions["indexes"].values() if "placement" in index]
    return {name for placement in placements for name in _accounts(placement)}


def _accounts(placement: Mapping[str, Any]) -> list[str]:
    if placement["by"] == "hash":
        return list(placement["accounts"])
    if placement["by"] == "range":
        return [one["account"] for one in placement["map"]]
    return [*placement["map"].values(), placement["default"]]


def setting_faults(resources: Iterable[Deployed], definitions: Mapping[str, Any]) -> list[str]:
    """Settings that the code needs and no template sets, and settings that a template sets and nothing reads."""
    given = app_settings(resources)
    placed = connections(definitions)
    required = [setting.name for setting in settings.ALL if setting.default is None]
    known = {setting.name for setting in settings.ALL} | PLATFORM | placed
    return [
        *(f"no template sets {name}" for name in required if name not in given and not is_connection(name, given)),
        *(f"no template sets the connection {name}" for name in sorted(placed) if not is_connection(name, given)),
        *(f"nothing reads the app setting {name}" for name in given if name.partition("__")[0] not in known),
    ]


def is_connection(name: str, given: Mapping[str, str]) -> bool:
    """Whether these settings are a connection of this name with a managed identity."""
    address = given.get(f"{name}__{_ADDRESSES.get(name, 'accountName')}")
    return bool(address and given.get(f"{name}__credential") == "managedidentity" and given.get(f"{name}__clientId"))
