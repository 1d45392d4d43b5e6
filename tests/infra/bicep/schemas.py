"""Holds deployed resources to the recorded type schemas: names, required and read-only flags, values, limits."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.infra.bicep.functions import Unknown
from tests.infra.bicep.schema_sources import BODY
from tests.infra.bicep.symbols import RESOURCE
from tests.infra.bicep.syntax import body_object, declared_name, parts, properties, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tree_sitter import Node

    from tests.infra.bicep.references import Deployed
    from tests.infra.bicep.syntax import Template

RECORDED: Final = Path(__file__).parents[1] / "schemas.json"
_PLAIN: Final[dict[str, type]] = {"string": str, "int": int, "bool": bool}
_LIMIT: Final = re.compile(r"(minLength|maxLength|minValue|maxValue): (\d+)")
_PATTERN: Final = re.compile(r"pattern: (.+)$")


@cache
def _recorded() -> dict[str, Any]:
    schemas: dict[str, Any] = json.loads(RECORDED.read_text())["resources"]
    return schemas


def type_words(spelled: str) -> list[str]:
    """The alternatives of a type as it is spelled, without brackets: `(A | B)[]` are A and B."""
    return [word.strip("()[] ") for word in spelled.split(" | ")]


def schema_faults(resources: Iterable[Deployed]) -> list[str]:
    """Everything in these resources that Azure's type schemas do not allow."""
    faults: list[str] = []
    for resource in resources:
        kind = f"{resource.type}@{resource.api_version}"
        if kind not in _recorded():
            faults.append(f"{resource}: {kind} is not recorded; is it right? Then run tests.infra.record_schemas")
            continue
        check = _Check(_recorded()[kind]["types"])
        name = resource.name.rpartition("/")[2]
        check.typed("", BODY, {**resource.body, "name": name})
        faults += [f"{resource}: {fault}" for fault in check.faults]
    return faults


def unchecked_types(template: Template) -> list[str]:
    """Resources whose type depends on their name, where the name is no literal: the compiler checks none of them."""
    return [
        f"{template.place(node)}: the name of {declared_name(node)} chooses its type, so it must be a literal (BCP225)"
        for node in template.declarations(RESOURCE)
        if _type_depends_on_name(text(parts(node)[1]).strip("'"))
        and not _is_literal(properties(body_object(node))["name"])
    ]


def _type_depends_on_name(kind: str) -> bool:
    body = _recorded().get(kind, {}).get("types", {}).get(BODY, {})
    return bool(body.get("discriminator") == "name")


def _is_literal(node: Node) -> bool:
    return node.type == "string" and all(part.type != "interpolation" for part in parts(node))


class _Check:
    """Walks one resource beside its types."""

    def __init__(self, types: Mapping[str, Any]) -> None:
        self.faults: list[str] = []
        self._types = types

    def typed(self, path: str, name: str, value: Any) -> None:
        """A value of a named type."""
        found = self._types[name]
        if not isinstance(value, dict):
            self.faults.append(f"{path} is {value!r}, not an object")
        elif "discriminator" in found:
            self._chosen(path, found, value)
        else:
            self._object(path, found["properties"], found.get("additional"), value)

    def _chosen(self, path: str, found: Mapping[str, Any], value: Mapping[str, Any]) -> None:
        choice = value.get(found["discriminator"])
        if choice not in found["elements"]:
            self.faults.append(f"{path}.{found['discriminator']} is {choice!r}, not one of {sorted(found['elements'])}")
            return
        self._object(path, found["elements"][choice], None, value)

    def _object(self, path: str, declared: Mapping[str, Any], additional: str | None, value: Mapping[str, Any]) -> None:
        for key, (_, flags, _) in declared.items():
            if "Required" in flags and key not in value:
                self.faults.append(f"{path}.{key} is required")
        for key, item in value.items():
            self._property(f"{path}.{key}", declared.get(key), additional, item)

    def _property(self, path: str, declared: list[str] | None, additional: str | None, item: Any) -> None:
        if declared is None and additional is None:
            self.faults.append(f"{path} is no property of its type")
        elif declared is None:
            self._value(path, str(additional), "", item)
        elif "ReadOnly" in declared[1]:
            self.faults.append(f"{path} is read-only")
        else:
            self._value(path, declared[0], declared[2], item)

    def _value(self, path: str, spelled: str, limits: str, item: Any) -> None:
        if item is None or spelled == "any":
            return
        if spelled.endswith("[]"):
            self._list(path, spelled, item)
        elif spelled in self._types:
            self.typed(path, spelled, item)
        else:
            self._scalar(path, spelled, limits, item)

    def _list(self, path: str, spelled: str, item: Any) -> None:
        if not isinstance(item, list):
            self.faults.append(f"{path} is {item!r}, not a list")
            return
        for position, one in enumerate(item):
            self._value(f"{path}[{position}]", spelled.removesuffix("[]").strip("()"), "", one)

    def _scalar(self, path: str, spelled: str, limits: str, item: Any) -> None:
        words = type_words(spelled)
        if isinstance(item, dict | list):
            self.faults.append(f"{path} is not recorded as {spelled}: run tests.infra.record_schemas, or mend it")
        elif isinstance(item, Unknown):
            return
        elif len(words) == 1 and words[0] in _PLAIN:
            self._plain(path, words[0], limits, item)
        elif str(item) not in words:
            self.faults.append(f"{path} is {item!r}, not one of {words}")

    def _plain(self, path: str, name: str, limits: str, item: Any) -> None:
        kind = type(item)
        if kind is not _PLAIN[name]:
            self.faults.append(f"{path} is {item!r}, not of type {name}")
            return
        for rule, number in _LIMIT.findall(limits):
            size = len(item) if rule.endswith("Length") else item
            if size < int(number) if rule.startswith("min") else size > int(number):
                self.faults.append(f"{path} is {item!r}: {rule} is {number}")
        pattern = _PATTERN.search(limits)
        if pattern and not re.search(pattern[1], item):
            self.faults.append(f"{path} is {item!r}, which does not match {pattern[1]}")
