"""What the Flex Consumption plan refuses in a site, which no type schema says: the schemas are those of all plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.infra.bicep.references import Deployed

# ARM answers 51021 to each of these; some older regions still ignore them.
REFUSED_PROPERTIES: Final = frozenset(
    {
        "alwaysOn",
        "ftpsState",
        "functionAppScaleLimit",
        "functionsRuntimeScaleMonitoringEnabled",
        "linuxFxVersion",
        "minimumElasticInstanceCount",
        "netFrameworkVersion",
        "preWarmedInstanceCount",
        "use32BitWorkerProcess",
        "windowsFxVersion",
    }
)
# Whether the plan takes these is not known, so no template sets them.
UNSETTLED_PROPERTIES: Final = frozenset({"http20Enabled", "scmMinTlsVersion"})
# Refused, or kept in functionAppConfig.
REFUSED_SETTINGS: Final = frozenset(
    {
        "ENABLE_ORYX_BUILD",
        "FUNCTIONS_EXTENSION_VERSION",
        "FUNCTIONS_WORKER_RUNTIME",
        "FUNCTIONS_WORKER_RUNTIME_VERSION",
        "SCM_DO_BUILD_DURING_DEPLOYMENT",
        "WEBSITE_CONTENTAZUREFILECONNECTIONSTRING",
        "WEBSITE_CONTENTSHARE",
        "WEBSITE_MAX_DYNAMIC_APPLICATION_SCALE_OUT",
        "WEBSITE_RUN_FROM_PACKAGE",
    }
)


def flex_faults(resources: Iterable[Deployed]) -> list[str]:
    """What the plan would refuse of every site."""
    faults: list[str] = []
    for site in (resource for resource in resources if resource.type == "Microsoft.Web/sites"):
        config = site.body["properties"]["siteConfig"]
        names = {setting["name"].upper() for setting in config["appSettings"]}
        faults += [
            *(
                f"{site}: Flex Consumption refuses siteConfig.{name}"
                for name in sorted(REFUSED_PROPERTIES & set(config))
            ),
            *(
                f"{site}: it is not known whether Flex Consumption takes siteConfig.{name}"
                for name in sorted(UNSETTLED_PROPERTIES & set(config))
            ),
            *(f"{site}: Flex Consumption refuses the app setting {name}" for name in sorted(REFUSED_SETTINGS & names)),
        ]
    return faults
