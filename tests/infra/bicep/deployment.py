"""What a deployment of main.bicep would send to Azure: every resource of every module, with its values.

The templates are evaluated for given parameters and definitions, without a compiler: conditions are decided, loops
unrolled, modules entered, parameters held to their declared types and decorators.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import yaml

from tests.infra.bicep.expressions import Expressions
from tests.infra.bicep.references import (
    SUBSCRIPTION_ID,
    TENANT_ID,
    Deployed,
    ModuleReference,
    Reference,
    TemplateError,
    group_reference,
    resource_id,
    written_id,
)
from tests.infra.bicep.symbols import MODULE, OUTPUT, PARAMETER, RESOURCE, VARIABLE, has_default
from tests.infra.bicep.syntax import declared_name, decorators, has_word, parse, parts, properties, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tree_sitter import Node

    from tests.infra.bicep.syntax import Template

_TYPES: Final[dict[str, type]] = {"string": str, "int": int, "bool": bool, "array": list, "object": dict}
# Where a resource is and what it waits for; the rest of its object is what Azure receives.
_PLACING: Final = {"parent", "scope", "dependsOn"}


def deploy(main: Path, parameters: Mapping[str, Any], definitions: Mapping[str, Any] | None = None) -> list[Deployed]:
    """The resources of a deployment; `definitions` take the place of indexes.yaml."""
    return deploy_all(main, parameters, definitions).resources


def deploy_all(
    main: Path, parameters: Mapping[str, Any], definitions: Mapping[str, Any] | None = None
) -> DeployedTemplates:
    """The resources of a deployment, and the deployments that its modules are."""
    deployment = _Deployment(parse(main), parameters, SUBSCRIPTION_ID, definitions)
    deployment.run()
    return DeployedTemplates(deployment.resources, deployment.modules)


@dataclass(frozen=True, slots=True)
class DeployedTemplates:
    """Everything that Azure is sent: resources, and the ids of the deployments that modules are."""

    resources: list[Deployed]
    modules: list[str]


class _Deployment:
    """One template being deployed into one scope."""

    def __init__(
        self, template: Template, parameters: Mapping[str, Any], scope: str, definitions: Mapping[str, Any] | None
    ) -> None:
        self.resources: list[Deployed] = []
        self.modules: list[str] = []
        self._template = template
        self._given = parameters
        self._scope = scope
        self._definitions = definitions
        self._expressions = Expressions(self)
        self._values: dict[str, Any] = {}
        kinds = (PARAMETER, VARIABLE, RESOURCE, MODULE)
        self._declarations = {declared_name(node): node for node in template.declarations(*kinds)}

    def run(self) -> dict[str, Any]:
        """Deploy everything; the outputs."""
        for name in self._declarations:
            self.symbol(name)
        outputs = self._template.declarations(OUTPUT)
        return {declared_name(node): self._expressions.value(parts(node)[-1], {}) for node in outputs}

    def symbol(self, name: str) -> Any:
        """The value of a symbol, found once."""
        if name not in self._values:
            if name not in self._declarations:
                raise TemplateError(f"{self._template.path.name}: {name} is not declared")
            self._values[name] = self._declared(self._declarations[name])
        return self._values[name]

    def contextual(self, function: str, arguments: list[Any]) -> Any:
        """Functions that depend on files or scope."""
        if function == "subscription":
            return {"id": SUBSCRIPTION_ID, "tenantId": TENANT_ID}
        if function == "resourceGroup":
            return group_reference(*arguments) if arguments else Reference("resourceGroup()", "", "", self._scope)
        if function in {"loadJsonContent", "loadTextContent", "loadYamlContent"}:
            return self._loaded(function, self._template.path.parent / arguments[0])
        raise TemplateError(f"{self._template.path.name}: the evaluator does not know the function {function}")

    def _loaded(self, function: str, path: Path) -> Any:
        if function == "loadTextContent":
            return path.read_text(encoding="utf-8")
        if function == "loadJsonContent":
            return json.loads(path.read_text(encoding="utf-8"))
        return yaml.safe_load(path.read_text(encoding="utf-8")) if self._definitions is None else self._definitions

    def _declared(self, node: Node) -> Any:
        if node.type == PARAMETER:
            return self._parameter(node)
        body = parts(node)[-1]
        if node.type == VARIABLE:
            return self._expressions.value(body, {})
        return self._looped(node, body, self._module if node.type == MODULE else self._resource)

    def _parameter(self, node: Node) -> Any:
        name = declared_name(node)
        if name in self._given:
            value = self._given[name]
        elif has_default(node):
            value = self._expressions.value(parts(node)[-1], {})
        else:
            raise TemplateError(f"{self._template.path.name}: no value for the parameter {name}")
        self._check_value(node, value)
        return value

    def _check_value(self, node: Node, value: Any) -> None:
        kind = text(parts(node)[1])
        place = f"{self._template.path.name}: parameter {declared_name(node)}"
        if type(value) is not _TYPES[kind] and not (kind == "string" and isinstance(value, str)):
            raise TemplateError(f"{place} is {value!r}, not of type {kind}")
        rules = decorators(self._template, node)
        if "allowed" in rules and value not in self._expressions.value(rules["allowed"][0], {}):
            raise TemplateError(f"{place} is {value!r}, which is not allowed")
        for rule, breaks in _BOUNDS.items():
            if rule in rules and breaks(value, int(text(rules[rule][0]))):
                raise TemplateError(f"{place} is {value!r}: {rule} is {text(rules[rule][0])}")

    def _looped(self, node: Node, body: Node, one: Callable[[Node, Node, Mapping[str, Any]], Any]) -> Any:
        if body.type == "for_statement":
            inner = parts(body)[-1]
            return [one(node, inner, names) for names in self._expressions.rounds(body, {})]
        return one(node, body, {})

    def _condition(self, body: Node, bound: Mapping[str, Any]) -> tuple[bool, Node]:
        if body.type != "if_statement":
            return True, body
        condition, inner = parts(body)
        return bool(self._expressions.value(condition, bound)), inner

    def _module(self, node: Node, body: Node, bound: Mapping[str, Any]) -> ModuleReference:
        holds, body = self._condition(body, bound)
        if not holds:
            return ModuleReference(declared_name(node), None)
        values = {key: self._expressions.value(part, bound) for key, part in properties(body).items()}
        path = self._template.path.parent / text(parts(node)[1]).strip("'")
        scope = values["scope"].id if "scope" in values else self._scope
        inner = _Deployment(parse(path), values.get("params", {}), scope, self._definitions)
        outputs = inner.run()
        self.resources += inner.resources
        self.modules += [resource_id(scope, "Microsoft.Resources/deployments", values["name"]), *inner.modules]
        return ModuleReference(declared_name(node), outputs)

    def _resource(self, node: Node, body: Node, bound: Mapping[str, Any]) -> Reference:
        holds, body = self._condition(body, bound)
        kind, _, api_version = text(parts(node)[1]).strip("'").partition("@")
        values = {key: self._expressions.value(part, bound) for key, part in properties(body).items()}
        parent = values.get("parent")
        name = f"{parent.name}/{values['name']}" if parent else values["name"]
        scope = values["scope"].id if "scope" in values else self._scope
        reference = Reference(declared_name(node), kind, name, resource_id(scope, kind, name), written_id(kind, name))
        if holds and not has_word(node, "existing"):
            sent = {key: value for key, value in values.items() if key not in _PLACING}
            where = (self._template.path.name, reference.symbol, scope)
            self.resources.append(Deployed(kind, api_version, name, reference.id, *where, sent))
        return reference


_BOUNDS: Final[dict[str, Callable[[Any, int], bool]]] = {
    "minLength": lambda value, bound: len(value) < bound,
    "maxLength": lambda value, bound: len(value) > bound,
    "minValue": lambda value, bound: value < bound,
    "maxValue": lambda value, bound: value > bound,
}
