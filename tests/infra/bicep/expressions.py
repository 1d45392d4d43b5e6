"""Evaluates the expressions of a template: literals, operators, member access, lambdas, loops, calls."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, Protocol

from tests.infra.bicep.functions import PURE, Unknown
from tests.infra.bicep.references import ModuleReference, Reference, TemplateError
from tests.infra.bicep.syntax import (
    has_word,
    is_misread,
    lambda_body,
    lambda_parameters,
    leading_lambda,
    loop_names,
    parts,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tree_sitter import Node

_WORDS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}
_OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
}


class Names(Protocol):
    """What the names and the contextual functions of a template mean."""

    def symbol(self, name: str) -> Any:
        """The value of a parameter, variable, resource or module."""

    def contextual(self, function: str, arguments: list[Any]) -> Any:
        """The answer of a function that depends on files or scope."""


class Expressions:
    """Evaluates nodes; `bound` holds what loops and lambdas have bound."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def value(self, node: Node, bound: Mapping[str, Any]) -> Any:
        """The value of any expression."""
        if lead := leading_lambda(node):
            return self._function(lambda_parameters(lead), lambda_body(node), bound)
        if is_misread(node):
            raise TemplateError(f"{text(node)!r} is misread by the grammar: put the right side into parentheses")
        method = getattr(self, f"_{node.type}", None)
        if method is None:
            raise TemplateError(f"{text(node)!r}: the evaluator does not know {node.type}")
        return method(node, bound)

    def _function(self, names: list[str], body: Node, bound: Mapping[str, Any]) -> Callable[..., Any]:
        return lambda *arguments: self.value(body, {**bound, **dict(zip(names, arguments, strict=True))})

    def _identifier(self, node: Node, bound: Mapping[str, Any]) -> Any:
        name = text(node)
        return bound[name] if name in bound else self._names.symbol(name)

    def _boolean(self, node: Node, _: Mapping[str, Any]) -> Any:
        return _WORDS[text(node)]

    _null = _boolean

    def _number(self, node: Node, _: Mapping[str, Any]) -> int:
        return int(text(node))

    def _string(self, node: Node, bound: Mapping[str, Any]) -> str:
        pieces = [
            self.value(parts(piece)[0], bound) if piece.type == "interpolation" else _unescaped(text(piece))
            for piece in parts(node)
        ]
        joined = "".join(map(str, pieces))
        return Unknown(joined) if any(isinstance(piece, Unknown) for piece in pieces) else joined

    def _object(self, node: Node, bound: Mapping[str, Any]) -> dict[str, Any]:
        return {
            self._key(parts(entry)[0], bound): self.value(parts(entry)[1], bound)
            for entry in parts(node)
            if entry.type == "object_property"
        }

    def _key(self, node: Node, bound: Mapping[str, Any]) -> str:
        return text(node) if node.type == "identifier" else self._string(node, bound)

    def _array(self, node: Node, bound: Mapping[str, Any]) -> list[Any]:
        return [self.value(item, bound) for item in parts(node)]

    def _for_statement(self, node: Node, bound: Mapping[str, Any]) -> list[Any]:
        body = parts(node)[-1]
        return [self.value(body, {**bound, **names}) for names in self.rounds(node, bound)]

    def rounds(self, node: Node, bound: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What each round of a loop binds."""
        names = loop_names(node)
        values = self.value(parts(node)[1], bound)
        return [dict(zip(names, (value, position), strict=False)) for position, value in enumerate(values)]

    def _parenthesized_expression(self, node: Node, bound: Mapping[str, Any]) -> Any:
        return self.value(parts(node)[0], bound)

    def _unary_expression(self, node: Node, bound: Mapping[str, Any]) -> Any:
        return not self.value(parts(node)[0], bound)

    def _ternary_expression(self, node: Node, bound: Mapping[str, Any]) -> Any:
        condition, yes, no = parts(node)
        return self.value(yes if self.value(condition, bound) else no, bound)

    def _binary_expression(self, node: Node, bound: Mapping[str, Any]) -> Any:
        left, right = parts(node)
        sign = next(child.type for child in node.children if not child.is_named)
        first = self.value(left, bound)
        if sign == "&&":
            return first and self.value(right, bound)
        if sign == "||":
            return first or self.value(right, bound)
        if sign == "??":
            return self.value(right, bound) if first is None else first
        return _OPERATORS[sign](first, self.value(right, bound))

    def _member_expression(self, node: Node, bound: Mapping[str, Any]) -> Any:
        owner, name = parts(node)
        return _member(self.value(owner, bound), text(name), node)

    def _subscript_expression(self, node: Node, bound: Mapping[str, Any]) -> Any:
        owner, key = (self.value(part, bound) for part in parts(node))
        if isinstance(key, int):
            return owner[key]
        return _member(owner, key, node)

    def _call_expression(self, node: Node, bound: Mapping[str, Any]) -> Any:
        called, given = parts(node)
        name, arguments = text(called), [self.value(argument, bound) for argument in parts(given)]
        if name in PURE:
            return PURE[name](*arguments)
        return self._names.contextual(name, arguments)


def _member(owner: Any, name: str, node: Node) -> Any:
    if isinstance(owner, Reference | ModuleReference):
        return owner.member(name)
    if isinstance(owner, Unknown):
        return Unknown(f"{owner[:-1]}.{name}>")
    is_safe = has_word(node, ".?") or has_word(node, "?")
    if is_safe and (owner is None or name not in owner):
        return None
    if not isinstance(owner, dict) or name not in owner:
        raise TemplateError(f"{text(node)!r}: there is no {name}")
    return owner[name]


def _unescaped(piece: str) -> str:
    return piece.replace("\\'", "'").replace("\\\\", "\\")
