"""Python values as parameters of lookups."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, TypeAlias, TypedDict

Scalar: TypeAlias = "str | int | float | bool | Decimal | datetime | None"
Value: TypeAlias = "Scalar | Sequence[Scalar] | AbstractSet[Scalar]"
# What `sees` takes: the answer of Cosmos DB to a write, the changed fact, or what `seen` makes.
Seen: TypeAlias = "str | Mapping[str, Any]"

_OPERATOR: Final = re.compile("__(in|gt|ge|lt|le|prefix|null)$")
_OPTIONS: Final = {"page_size": "maxpagesize"}
_OF_COSMOS: Final = ("_etag", "_ts")


class CountOptions(TypedDict, total=False):
    """What a count takes beside conditions."""

    sees: Seen


class Options(CountOptions, total=False):
    """What a lookup takes beside conditions."""

    select: str | Sequence[str]
    filter: str
    expand: str
    page_size: int


def json_parameters(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Conditions and options by their names on the wire, with JSON values. A list asks for any of its values."""
    found: dict[str, Any] = {}
    for name, value in asked.items():
        wire = _OPTIONS.get(name) or _OPERATOR.sub(r".\1", name)
        if wire == "select" and not isinstance(value, str):
            found[wire] = ",".join(value)
        elif isinstance(value, (str, Mapping)) or not isinstance(value, (Sequence, AbstractSet)):
            found[wire] = _json_value(value)
        else:
            found[wire if wire.endswith(".in") else f"{wire}.in"] = [_json_value(each) for each in value]
    return found


def query_parameters(asked: Mapping[str, Any]) -> dict[str, str]:
    """The same for an address: text only."""
    return dict(_query_parameter(name, value) for name, value in json_parameters(asked).items())


def _query_parameter(name: str, value: Any) -> tuple[str, str]:
    if value is None:
        return f"{name}.null", "true"
    return name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _json_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    # As text, it loses no digit.
    return str(value) if isinstance(value, Decimal) else value


def seen(item: Mapping[str, Any], partition_key: object = None, version: object = None) -> str:
    """The value of `sees` for an item that a Cosmos DB write answered with, or for a fact with a declared version.

    `partition_key` is the item's own partition key value, or the list of them for a hierarchical one.
    """
    members: dict[str, Any] = {"id": item["id"], "partitionKey": partition_key}
    if version is not None:
        members["version"] = version
    elif all(name in item for name in _OF_COSMOS):
        members |= {name: item[name] for name in _OF_COSMOS}
    else:
        raise ValueError('The item has no "_etag" and "_ts": give what Cosmos DB answered to the write, or a version.')
    return json.dumps(members, separators=(",", ":"))


def seen_as(identity: Mapping[str, Any], item: Mapping[str, Any]) -> str:
    """The same for a fact of a source with this identity, as `/api/indexes` shows it."""
    keys = [at_path(item, path, {}) for path in identity["partitionKey"]]
    named = {"id": at_path(item, identity["id"], None), **{name: item[name] for name in _OF_COSMOS if name in item}}
    partition_key = None if not keys else keys[0] if len(keys) == 1 else keys
    # An order of Cosmos DB's or the hub's own has a space in its name, which no path has.
    version = None if " " in identity["version"] else at_path(item, identity["version"], None)
    return seen(named, partition_key, version)


def at_path(item: Mapping[str, Any], path: str, missing: Any) -> Any:
    """What a fact has at a path of field names."""
    value: Any = item
    for name in path.split("."):
        if not isinstance(value, Mapping) or name.strip('"') not in value:
            return missing
        value = value[name.strip('"')]
    return value
