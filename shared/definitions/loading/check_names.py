"""Checks of the names of what facts come from: databases, containers and event hubs, as Azure takes them.

From Microsoft's "Naming rules and restrictions for Azure resources" and the quota pages of Cosmos DB and Event Hubs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from shared.definitions.loading.findings import Findings, KeyPath
    from shared.definitions.model import CosmosContainer, Source

_COSMOS_CHARACTERS_MAX: Final = 255
_COSMOS_FORBIDDEN: Final = re.compile(r"[/\\#?\x00-\x1f]| $")
# What `LEASE_CONTAINER` in sources/trigger_leases says; there is one beside the facts in every database.
_LEASES: Final = "leases"
_HUB: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,254}[A-Za-z0-9])?")


def check_names(source: Source, findings: Findings) -> None:
    """Report every name of a source that Azure would refuse, or that is taken."""
    at: KeyPath = ("sources", source.name)
    if source.cosmos is not None:
        _check_cosmos((*at, "cosmos"), source.cosmos, findings)
    if source.event_hub is not None and not _HUB.fullmatch(source.event_hub):
        mend = "Use at most 256 letters, digits, `.`, `-` and `_`, with a letter or digit at both ends."
        findings.fault((*at, "eventHub"), f'"{source.event_hub}" is no name of an event hub', mend)


def _check_cosmos(at: KeyPath, cosmos: CosmosContainer, findings: Findings) -> None:
    for key, name in (("database", cosmos.database), ("container", cosmos.container)):
        if len(name) > _COSMOS_CHARACTERS_MAX or _COSMOS_FORBIDDEN.search(name):
            mend = f"Use at most {_COSMOS_CHARACTERS_MAX} characters, no `/ \\ # ?`, no space at the end."
            findings.fault((*at, key), f'"{name}" is no name of a Cosmos DB {key}', mend)
    if cosmos.container == _LEASES:
        what = f'"{_LEASES}" is where the triggers keep their leases, which they would follow'
        findings.fault((*at, "container"), what, "Keep facts in a container of another name.")
