"""What the real extension makes of a page on its way to the function: its JSON library is not ours.

- By default it rewrites texts that look like times (`shared.entries.changes.host_dates`), unless host.json says
  `extensions.cosmosDB.serializerSettings.dateParseHandling: "None"`.
- It fails on times before year 1 or after 9999, and on 64 levels of nesting or more. No function is called then, and
  the page comes again for ever.
- In all versions and deletes the clock (`crts`) and partition key values that are numbers come out as doubles.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from local.host.errors import UnreadablePageError
from local.process.errors import LocalRunError
from shared.entries.changes.host_dates import NoSuchDateError, rewritten
from shared.entries.rows.json_text import nesting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta

# A document with this many levels is one too many: the array around it is a level, too, and the library has 64.
LEVELS_REFUSED: Final = 64
# The host behaves as Azure's does without settings in host.json. The end-to-end suite can be run with it.
AZURE_DEFAULTS_SETTING: Final = "LOCAL_AZURE_DEFAULTS"


@dataclass(frozen=True, slots=True)
class ExtensionJson:
    """The JSON of the extension, as host.json configures it."""

    rewrites_dates: bool = True

    @classmethod
    def from_host_json(cls, section: Mapping[str, Any], settings: Mapping[str, str]) -> ExtensionJson:
        """The section `cosmosDB` of host.json."""
        given = section.get("serializerSettings", {})
        where = "host.json: extensions.cosmosDB.serializerSettings"
        if not isinstance(given, dict):
            raise LocalRunError(f"{where} is not an object; write {{...}} there.")
        handling = str(given.get("dateParseHandling", "DateTime"))
        if handling.lower() not in ("none", "datetime"):
            raise LocalRunError(f'{where}.dateParseHandling is {handling!r}; write "None" or "DateTime".')
        has_azure_defaults = settings.get(AZURE_DEFAULTS_SETTING, "").lower() == "true"
        return cls(has_azure_defaults or handling.lower() == "datetime")

    def payload(self, items: Sequence[dict[str, Any]]) -> str:
        """A page as the function gets it; raises `UnreadablePageError` where the extension fails."""
        return json.dumps([self._item(item) for item in items], separators=(",", ":"))

    def _item(self, item: dict[str, Any]) -> dict[str, Any]:
        if nesting(item) >= LEVELS_REFUSED:
            raise UnreadablePageError(
                f"{_name(item)} is nested {nesting(item)} levels deep, and the extension fails from {LEVELS_REFUSED} "
                "levels on: make the document shallower or delete it."
            )
        try:
            converted = self._with_dates(item)
        except NoSuchDateError as error:
            raise UnreadablePageError(
                f"{_name(item)} has the text {str(error)!r}, and the extension fails on that time: change the text, or "
                'set extensions.cosmosDB.serializerSettings.dateParseHandling to "None" in host.json.'
            ) from error
        metadata = converted.get("metadata")
        is_version = "current" in converted and isinstance(metadata, dict) and "_ts" not in converted
        return {**converted, "metadata": _with_doubles(metadata)} if is_version else converted

    def _with_dates(self, value: Any) -> Any:
        if not self.rewrites_dates:
            return value
        if isinstance(value, str):
            return rewritten(value, _offset_at)
        if isinstance(value, dict):
            return {name: self._with_dates(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._with_dates(inner) for inner in value]
        return value


def _offset_at(instant: datetime) -> timedelta:
    """What this machine's clock is ahead of UTC."""
    offset = instant.astimezone().utcoffset()
    assert offset is not None
    return offset


def _with_doubles(metadata: dict[str, Any]) -> dict[str, Any]:
    """The metadata of an item of the all versions feed."""
    changed = {name: _double(value) if name == "crts" else value for name, value in metadata.items()}
    key = metadata.get("partitionKey")
    if isinstance(key, dict):
        changed["partitionKey"] = {name: _double(value) for name, value in key.items()}
    return changed


def _double(value: Any) -> Any:
    return float(value) if type(value) is int else value


def _name(item: dict[str, Any]) -> str:
    current = item.get("current")
    found = item.get("id", current.get("id") if isinstance(current, dict) else None)
    return f"The document with id {found!r} (_ts {item.get('_ts')})"
