"""Reads Azure's official type schemas, as two tools print them, into one plain form.

A type is `{"properties": {name: [type, flags, limits]}}`, with `additional` for other properties, or it has a
`discriminator` and `elements`. `azmcp bicepschema get` prints most types; those that it lacks are read from a checkout
of Azure/bicep-types-az, which the Bicep compiler itself is built from.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

Types: TypeAlias = "dict[str, dict[str, Any]]"

BODY: Final = "<body>"
_FLAGS: Final = {1: "Required", 2: "ReadOnly", 4: "WriteOnly", 8: "DeployTimeConstant"}
_OBJECTS: Final = ("ObjectType", "DiscriminatedObjectType")
_PRIMITIVES: Final = {
    "StringType": "string",
    "IntegerType": "int",
    "BooleanType": "bool",
    "AnyType": "any",
    "NullType": "null",
}


def from_azmcp(program: Path, resource_type: str) -> tuple[str, Types] | None:
    """The newest API version of a resource type and its types; None when azmcp lacks it."""
    command = [str(program), "bicepschema", "get", "--resource-type", resource_type]
    environment = {**os.environ, "AZURE_MCP_COLLECT_TELEMETRY": "false"}
    printed = subprocess.run(command, capture_output=True, text=True, check=False, env=environment).stdout
    # It logs to standard output before it answers.
    answer = json.loads(printed[printed.index("{\n") :])
    if answer["status"] != 200:
        return None
    entries = answer["results"]["BicepSchemaResult"]
    resource = next(entry for entry in entries if entry["$type"] == "Resource")
    types = {entry["name"]: _plain(entry) for entry in entries if entry["$type"] in {"Object", "DiscriminatedObject"}}
    return resource["name"].partition("@")[2], {**types, BODY: _plain(resource["bodyType"])}


def _plain(entry: dict[str, Any]) -> dict[str, Any]:
    if entry["$type"] == "DiscriminatedObject":
        base = _properties(entry["baseProperties"])
        elements = [_properties(element["properties"]) for element in entry["elements"]]
        name = entry["discriminator"]
        return {"discriminator": name, "elements": {found[name][0]: {**base, **found} for found in elements}}
    plain: dict[str, Any] = {"properties": _properties(entry["properties"])}
    if entry.get("additionalPropertiesType"):
        plain["additional"] = entry["additionalPropertiesType"]
    return plain


def _properties(listed: list[dict[str, Any]]) -> dict[str, list[str]]:
    return {one["name"]: [one["type"], one.get("flags", ""), one.get("modifiers", "")] for one in listed}


def from_checkout(repository: Path, resource_type: str, api_version: str) -> Types:
    """The types of one resource type, from `types.json` at the head of a Git repository."""
    provider = resource_type.partition("/")[0].lower()
    listed = _git(repository, "ls-tree", "-r", "--name-only", "HEAD", "generated").splitlines()
    for path in (path for path in listed if path.endswith(f"/{provider}/{api_version}/types.json")):
        entries = json.loads(_git(repository, "show", f"HEAD:{path}"))
        for entry in entries:
            if entry["$type"] == "ResourceType" and entry["name"].lower() == f"{resource_type}@{api_version}".lower():
                return _from_entries(entries, entry["body"])
    raise LookupError(f"{resource_type}@{api_version} is not in {repository}: fetch it, or use another API version.")


def head(repository: Path) -> str:
    """The commit that the checkout is at."""
    return _git(repository, "rev-parse", "HEAD").strip()


def _git(repository: Path, *arguments: str) -> str:
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _from_entries(entries: list[dict[str, Any]], body: dict[str, str]) -> Types:
    names = {f"#/{number}": _type_name(entry, number) for number, entry in enumerate(entries)}
    types = {
        names[f"#/{number}"]: _object(entry, entries, names)
        for number, entry in enumerate(entries)
        if entry["$type"] in _OBJECTS
    }
    return {**types, BODY: types[names[body["$ref"]]]}


def _type_name(entry: dict[str, Any], number: int) -> str:
    return f"{entry['name']}#{number}" if entry["$type"] in _OBJECTS else ""


def _object(entry: dict[str, Any], entries: list[dict[str, Any]], names: dict[str, str]) -> dict[str, Any]:
    if "discriminator" in entry:
        return _choice(entry, entries, names)
    plain: dict[str, Any] = {"properties": _typed(entry["properties"], entries, names)}
    if "additionalProperties" in entry:
        plain["additional"] = _spelled(entry["additionalProperties"]["$ref"], entries, names)
    return plain


def _choice(entry: dict[str, Any], entries: list[dict[str, Any]], names: dict[str, str]) -> dict[str, Any]:
    """A type that is one of several, by the value of one of its properties."""
    base = _typed(entry["baseProperties"], entries, names)
    chosen = {key: entries[int(one["$ref"].removeprefix("#/"))] for key, one in entry["elements"].items()}
    elements = {key: {**base, **_typed(one["properties"], entries, names)} for key, one in chosen.items()}
    return {"discriminator": entry["discriminator"], "elements": elements}


def _typed(properties: dict[str, Any], entries: list[dict[str, Any]], names: dict[str, str]) -> dict[str, list[str]]:
    return {
        name: [_spelled(one["type"]["$ref"], entries, names), _flags(one["flags"]), ""]
        for name, one in properties.items()
    }


def _spelled(reference: str, entries: list[dict[str, Any]], names: dict[str, str]) -> str:
    """A type as azmcp would print it."""
    entry = entries[int(reference.removeprefix("#/"))]
    if entry["$type"] == "StringLiteralType":
        return str(entry["value"])
    if entry["$type"] == "UnionType":
        return " | ".join(_spelled(element["$ref"], entries, names) for element in entry["elements"])
    if entry["$type"] == "ArrayType":
        return f"{_spelled(entry['itemType']['$ref'], entries, names)}[]"
    return names[reference] or _PRIMITIVES[entry["$type"]]


def _flags(number: int) -> str:
    return ", ".join(name for bit, name in _FLAGS.items() if number & bit)
