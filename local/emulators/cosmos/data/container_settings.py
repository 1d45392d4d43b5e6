"""What a container may be created with: defaults for what is left out, refusal of what would be ignored.

A setting that the server echoes without obeying would make a local test pass where Azure fails.
"""

from __future__ import annotations

from typing import Any

from local.emulators.cosmos.data.partition_key import PartitionKeyDefinition
from local.emulators.cosmos.errors import BadRequestError

_DEFAULT_INDEXING = {
    "indexingMode": "consistent",
    "automatic": True,
    "includedPaths": [{"path": "/*"}],
    "excludedPaths": [{"path": '/"_etag"/?'}],
}


def checked(body: dict[str, Any]) -> dict[str, Any]:
    """The settings to keep, complete and without system properties."""
    settings = {name: value for name, value in body.items() if not name.startswith("_")}
    spec = settings.get("partitionKey")
    PartitionKeyDefinition.parse(spec)
    settings["partitionKey"] = {"kind": "Hash", "version": 2, **(spec or {})}
    settings.setdefault("indexingPolicy", _DEFAULT_INDEXING)
    _refuse_ignored(settings)
    _check_ttl(settings)
    return settings


def _refuse_ignored(settings: dict[str, Any]) -> None:
    unique = settings.get("uniqueKeyPolicy")
    if isinstance(unique, dict) and unique.get("uniqueKeys"):
        raise BadRequestError("The local Cosmos DB does not enforce unique keys: leave out uniqueKeyPolicy.")
    if settings.get("computedProperties"):
        raise BadRequestError("The local Cosmos DB does not have computed properties: leave them out.")


def _check_ttl(settings: dict[str, Any]) -> None:
    if "defaultTtl" in settings and not is_ttl(settings["defaultTtl"]):
        raise BadRequestError("defaultTtl must be -1 or a positive number of seconds: leave it out for none.")


def is_ttl(value: Any) -> bool:
    """Whether a value can be a time to live: a positive number of seconds, or -1 for never."""
    return isinstance(value, int) and not isinstance(value, bool) and (value == -1 or 0 < value < 2**31)
