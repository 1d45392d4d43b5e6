"""Templates as syntax trees (tree-sitter), and the little that the grammar gets wrong put right.

The grammar ends the body of a lambda too early: `x => x.a == 1` comes as `((x => x).a) == 1`. `leading_lambda` finds
such a lambda, `lambda_body` reads all that belongs to its body again, on its own. It also reads `1 + x.a` as
`(1 + x).a`, which `is_misread` finds; templates write `1 + (x.a)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import tree_sitter_bicep
from tree_sitter import Language, Node, Parser

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LED_BY_FIRST: Final = {"member_expression", "subscript_expression", "binary_expression", "ternary_expression"}


@dataclass(frozen=True, slots=True)
class Template:
    """A Bicep file."""

    path: Path
    root: Node

    def declarations(self, *kinds: str) -> list[Node]:
        """The declarations of these kinds, such as `parameter_declaration`, in order."""
        return [node for node in self.root.named_children if node.type in kinds]

    def place(self, node: Node) -> str:
        """Where a node stands, for people."""
        return f"{self.path.name}:{node.start_point[0] + 1}"


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bicep.language()))


def parse(path: Path) -> Template:
    """Read a template, however broken."""
    return Template(path, _parser().parse(path.read_bytes()).root_node)


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it."""
    yield node
    for child in node.children:
        yield from walk(child)


def syntax_faults(template: Template) -> list[str]:
    """Every place that is no Bicep."""
    return [
        f"{template.place(node)}: syntax error at {text(node)[:40]!r}"
        for node in walk(template.root)
        if node.type == "ERROR" or node.is_missing
    ]


def text(node: Node) -> str:
    """The source text of a node."""
    return (node.text or b"").decode()


def parts(node: Node) -> list[Node]:
    """The children that mean something."""
    return [child for child in node.named_children if child.type != "comment"]


def declared_name(declaration: Node) -> str:
    """The symbol that a declaration introduces."""
    return text(parts(declaration)[0])


def has_word(node: Node, word: str) -> bool:
    """Whether a keyword or operator, such as `existing`, stands directly in the node."""
    return any(child.type == word for child in node.children)


def properties(node: Node) -> dict[str, Node]:
    """The values of an object literal by key."""
    return {key_text(entry): parts(entry)[1] for entry in parts(node) if entry.type == "object_property"}


def key_text(entry: Node) -> str:
    """The key of an object's entry, as written, without quotes."""
    return text(parts(entry)[0]).strip("'")


def body_object(declaration: Node) -> Node:
    """The object of a resource or module, inside its loop and condition."""
    node = parts(declaration)[-1]
    while node.type in {"for_statement", "if_statement"}:
        node = parts(node)[-1]
    return node


def leading_lambda(node: Node) -> Node | None:
    """The lambda that this expression wrongly starts with."""
    while node.type in _LED_BY_FIRST:
        node = parts(node)[0]
    return node if node.type == "lambda_expression" else None


def is_misread(node: Node) -> bool:
    """Whether a member, element or call was taken from an operation, which Bicep lets only parentheses do."""
    takes = {"member_expression", "subscript_expression", "call_expression"}
    operations = {"binary_expression", "ternary_expression", "unary_expression"}
    return node.type in takes and parts(node)[0].type in operations


def lambda_body(node: Node) -> Node:
    """The body of the lambda that this expression starts with: all that comes after its arrow."""
    return _expression(text(node).partition("=>")[2])


@cache
def _expression(source: str) -> Node:
    root = _parser().parse(f"var body = {source.strip()}\n".encode()).root_node
    return parts(parts(root)[0])[1]


def lambda_parameters(node: Node) -> list[str]:
    """The names that a lambda binds."""
    return [text(name) for part in parts(node)[:-1] for name in walk(part) if name.type == "identifier"]


def loop_names(node: Node) -> list[str]:
    """The names that a loop binds: the item, and perhaps its position."""
    first = parts(node)[0]
    return [text(name) for name in parts(first)] if first.type == "for_loop_parameters" else [text(first)]


def decorators(template: Template, declaration: Node) -> dict[str, list[Node]]:
    """The decorators right above a declaration, with their arguments."""
    before = declaration.prev_named_sibling
    if before is None or before.type != "decorators":
        return {}
    calls = [parts(decorator)[0] for decorator in parts(before)]
    return {text(parts(call)[0]): parts(parts(call)[1]) for call in calls}
