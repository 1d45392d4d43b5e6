"""Symbols: what a template declares, what it uses, and whether modules are called as they are declared."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from tests.infra.bicep.functions import KNOWN_FUNCTIONS
from tests.infra.bicep.syntax import (
    body_object,
    declared_name,
    lambda_parameters,
    leading_lambda,
    loop_names,
    parse,
    parts,
    properties,
    text,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from tests.infra.bicep.syntax import Template

PARAMETER: Final = "parameter_declaration"
VARIABLE: Final = "variable_declaration"
RESOURCE: Final = "resource_declaration"
MODULE: Final = "module_declaration"
OUTPUT: Final = "output_declaration"
_USED: Final = (PARAMETER, VARIABLE)
_SYMBOLS: Final = (PARAMETER, VARIABLE, RESOURCE, MODULE)


def symbol_faults(template: Template) -> list[str]:
    """Undefined symbols and functions, symbols declared twice, parameters and variables that nobody uses."""
    names = [declared_name(node) for node in template.declarations(*_SYMBOLS)]
    used = [(node, text(node)) for node in template.root.named_children for node in _references(node, frozenset())]
    called = [(node, text(parts(node)[0])) for node in walk(template.root) if node.type == "call_expression"]
    return [
        *(f"{template.path.name}: {name} is declared twice" for name, count in Counter(names).items() if count > 1),
        *(f"{template.place(node)}: {name} is not declared" for node, name in used if name not in names),
        *(
            f"{template.place(node)}: there is no function {name}"
            for node, name in called
            if name not in KNOWN_FUNCTIONS
        ),
        *_unused(template, {name for _, name in used}),
        *_shadowing(template, names),
    ]


def _unused(template: Template, used: set[str]) -> list[str]:
    return [
        f"{template.place(node)}: {declared_name(node)} is declared and never used"
        for node in template.declarations(*_USED)
        if declared_name(node) not in used
    ]


def _shadowing(template: Template, names: list[str]) -> list[str]:
    bound = [
        (node, name)
        for node in walk(template.root)
        if node.type in {"for_statement", "lambda_expression"}
        for name in (loop_names(node) if node.type == "for_statement" else lambda_parameters(node))
    ]
    return [f"{template.place(node)}: {name} hides the symbol of that name" for node, name in bound if name in names]


def _references(node: Node, bound: frozenset[str]) -> Iterator[Node]:
    """The identifiers below a node that must be symbols of the template; `bound` ones belong to loops and lambdas."""
    if node.type in {"decorators", "target_scope_assignment", "metadata_declaration"}:
        return
    if node.type == "identifier":
        if text(node) not in bound:
            yield node
        return
    if node.type == "for_statement":
        bound = bound.union(loop_names(node))
    elif node.type == "lambda_expression":
        bound = bound.union(lambda_parameters(node))
    elif lead := leading_lambda(node):
        bound = bound.union(lambda_parameters(lead))
    for child in _values(node):
        yield from _references(child, bound)


def _values(node: Node) -> list[Node]:
    """The children that are expressions: not the name declared, the key set, the function called, the names bound."""
    children = parts(node)
    if node.type in {*_SYMBOLS, OUTPUT, "object_property", "lambda_expression"}:
        key = [children[0]] if node.type == "object_property" and children[0].type == "string" else []
        return key + children[1:]
    if node.type == "call_expression" and children[0].type == "identifier":
        return children[1:]
    return children


def wiring_faults(template: Template) -> list[str]:
    """Modules called without a parameter that they require, with one that they lack, or for an output they lack."""
    faults: list[str] = []
    for declaration in template.declarations(MODULE):
        path = template.path.parent / text(parts(declaration)[1]).strip("'")
        if path.is_file():
            faults += _call_faults(template, declaration, parse(path))
        else:
            faults.append(f"{template.place(declaration)}: there is no file {path.name}")
    return faults


def _call_faults(template: Template, declaration: Node, module: Template) -> list[str]:
    declared = {declared_name(node): node for node in module.declarations(PARAMETER)}
    required = {name for name, node in declared.items() if not has_default(node)}
    body = properties(body_object(declaration))
    given = set(properties(body["params"])) if "params" in body else set()
    symbol, place = declared_name(declaration), template.place(declaration)
    outputs = {declared_name(node) for node in module.declarations(OUTPUT)}
    return [
        *(f"{place}: {symbol} lacks the parameter {name}" for name in sorted(required - given)),
        *(f"{place}: {module.path.name} has no parameter {name}" for name in sorted(given - set(declared))),
        *(
            f"{place}: {module.path.name} has no output {name}"
            for name in sorted(_outputs_used(template, symbol) - outputs)
        ),
    ]


def has_default(parameter: Node) -> bool:
    """Whether a parameter may be left out."""
    return len(parts(parameter)) > 2


def _outputs_used(template: Template, module: str) -> set[str]:
    """The names after `module.outputs.` or `module[i].outputs.`."""
    used: set[str] = set()
    for node in walk(template.root):
        if node.type != "member_expression":
            continue
        inner, name = parts(node)
        if inner.type == "member_expression" and text(parts(inner)[1]) == "outputs":
            owner = parts(inner)[0]
            owner = parts(owner)[0] if owner.type == "subscript_expression" else owner
            used |= {text(name)} if text(owner) == module else set()
    return used
