"""Records the type schemas of every resource in the templates into schemas.json, which the tests use.

    npm install --prefix /somewhere @azure/mcp-linux-x64
    git clone --depth 1 https://github.com/Azure/bicep-types-az /somewhere/types
    python -m tests.infra.record_schemas --azmcp /somewhere/.../dist/azmcp --types /somewhere/types --date 2026-11-17

Kept are the types that the templates use, with all their properties. Run it again when a template sets a property of a
type that is not recorded (the test says so), or for newer API versions.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, Final

from tests.infra.bicep.schema_sources import BODY, Types, from_azmcp, from_checkout, head
from tests.infra.bicep.schemas import RECORDED, type_words
from tests.infra.bicep.symbols import RESOURCE
from tests.infra.bicep.syntax import key_text, parse, parts, text, walk
from tests.infra.templates import all_templates

_PACKAGE: Final = "package.json"


def main() -> None:
    """Record everything anew."""
    parser = argparse.ArgumentParser(description="Record the type schemas of the templates' resources.")
    parser.add_argument("--azmcp", type=Path, required=True, help="the program of npm's @azure/mcp-linux-x64")
    parser.add_argument("--types", type=Path, required=True, help="a checkout of Azure/bicep-types-az")
    parser.add_argument("--date", required=True, help="today, as the file is to say")
    options = parser.parse_args()
    templates = [parse(path) for path in all_templates()]
    nodes = [node for template in templates for node in template.declarations(RESOURCE)]
    wanted = sorted({text(parts(node)[1]).strip("'") for node in nodes})
    keys = {key_text(node) for one in templates for node in walk(one.root) if node.type == "object_property"}
    recorded = {name: _schema(name, options.azmcp, options.types, keys) for name in wanted}
    RECORDED.write_text(written({**_origin(options), "resources": recorded}))


def written(content: dict[str, Any]) -> str:
    """The file's text: one line per type, so that a change of schemas can be read."""
    resources = [
        f'  {json.dumps(name)}: {{"from": {json.dumps(one["from"])}, "types": {{\n{_lines(one["types"])}\n  }}}}'
        for name, one in content["resources"].items()
    ]
    head_lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in content.items() if key != "resources"]
    return "\n".join(["{", *head_lines, ' "resources": {', ",\n".join(resources), " }", "}", ""])


def _lines(types: Types) -> str:
    return ",\n".join(f"    {json.dumps(name)}: {json.dumps(types[name])}" for name in sorted(types))


def _origin(options: argparse.Namespace) -> dict[str, str]:
    package = json.loads((options.azmcp.parent.parent / _PACKAGE).read_text())
    return {
        "recorded": options.date,
        "azmcp": f"{package['name']} {package['version']}",
        "bicep-types-az": head(options.types),
    }


def _schema(name: str, azmcp: Path, checkout: Path, keys: set[str]) -> dict[str, Any]:
    resource_type, _, api_version = name.partition("@")
    answer = from_azmcp(azmcp, resource_type)
    if answer and answer[0] == api_version:
        return {"from": "azmcp", "types": _used(answer[1], keys)}
    return {"from": "bicep-types-az", "types": _used(from_checkout(checkout, resource_type, api_version), keys)}


def _used(types: Types, keys: set[str]) -> Types:
    """The types that can be reached through properties with these names."""
    used: Types = {}
    waiting = [BODY]
    while waiting:
        name = waiting.pop()
        if name in types and name not in used:
            used[name] = types[name]
            waiting += [word for spelled in _followed(types[name], keys) for word in type_words(spelled)]
    return used


def _followed(found: dict[str, Any], keys: set[str]) -> list[str]:
    groups = [found.get("properties", {}), *found.get("elements", {}).values()]
    own = [one[0] for group in groups for name, one in group.items() if name in keys and "ReadOnly" not in one[1]]
    return own + ([found["additional"]] if "additional" in found else [])


if __name__ == "__main__":
    main()
