"""JMESPath expressions: parsed, and refused with a reason when they cannot mean anything.

The library is imported only for expressions that are more than a dotted path: it costs start-up time, and
most definitions never need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from shared.definitions.field_paths import segments

if TYPE_CHECKING:
    from collections.abc import Iterator

# The library evaluates a tree by calling itself, some frames a level; Python allows a thousand.
_DEPTH_MAX: Final = 100
_TOO_DEEP: Final = f"it is nested more than {_DEPTH_MAX} levels deep"


class ExpressionError(ValueError):
    """The text is no expression; the message says where it goes wrong."""


def parse(text: str) -> dict[str, Any]:
    """The syntax tree of a JMESPath expression."""
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        tree = cast(dict[str, Any], jmespath.compile(text).parsed)
    except (JMESPathError, ValueError) as error:
        raise ExpressionError(_first_line(error)) from error
    except RecursionError as error:
        raise ExpressionError(_TOO_DEEP) from error
    _refuse_unknown_functions(tree)
    return tree


def problem_with(text: str) -> str | None:
    """Why this is no expression, or None when it is one."""
    if segments(text) is not None:
        return None
    try:
        parse(text)
    except ExpressionError as error:
        return str(error)
    return None


def is_slice(text: str) -> bool:
    """Whether an expression gives a slice of a list, as `a.b[:10]` does; it gives nothing for a slice of a text."""
    if segments(text) is not None:
        return False
    node = parse(text)
    while node["type"] == "subexpression":
        node = node["children"][-1]
    if node["type"] != "projection":
        return False
    sliced = node["children"][0]
    return bool(sliced["type"] == "index_expression" and sliced["children"][-1]["type"] == "slice")


def _first_line(error: Exception) -> str:
    """The library adds a picture of the place in further lines; it does not survive a one-line fault."""
    return (str(error).strip() or "it is empty").splitlines()[0].rstrip(":")


def _refuse_unknown_functions(tree: dict[str, Any]) -> None:
    """The library finds out only when it evaluates, and then for every fact; that a tree is too deep, as well."""
    from jmespath.functions import Functions

    known = Functions().FUNCTION_TABLE
    for node, depth in _nodes(tree):
        if depth > _DEPTH_MAX:
            raise ExpressionError(_TOO_DEEP)
        if node["type"] == "function_expression" and node["value"] not in known:
            raise ExpressionError(f"there is no function {node['value']}()")


def _nodes(tree: dict[str, Any]) -> Iterator[tuple[dict[str, Any], int]]:
    """Every node with its depth."""
    waiting = [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting += [(child, depth + 1) for child in node.get("children", ()) if isinstance(child, dict)]
