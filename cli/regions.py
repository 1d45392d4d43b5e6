"""The regions that the templates deploy to, and what a region must have."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from shared.definitions.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from shared.definitions.loading.findings import Findings

_FILE: Final = "regions.json"


def check_region(parameters: Mapping[str, Any], folder: Path, findings: Findings) -> None:
    """Report a region without the plan, and zones where a region has none; nothing when no region is chosen yet."""
    region = str(parameters.get("location") or "")
    if not region:
        return
    known = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    if region not in known["flexConsumption"]:
        fix = f"Set AZURE_LOCATION to a region with Flex Consumption. {did_you_mean(region, known['flexConsumption'])}"
        findings.fault((), f"the templates do not deploy to {region}", fix.strip())
    elif region in known["withoutZones"]:
        for what, fix in _needs_zones(parameters):
            findings.fault((), f"{what} needs availability zones, and {region} has none", fix)


def _needs_zones(parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    sku = str(parameters.get("indexStorageSku") or "")
    wanted = [(sku, "Set INDEX_STORAGE_SKU to one without Z, or leave it empty.")] if "ZRS" in sku else []
    if str(parameters.get("isZoneRedundant")).lower() == "true":
        wanted.append(("isZoneRedundant", "Set ZONE_REDUNDANT to false, or choose another region."))
    return wanted
