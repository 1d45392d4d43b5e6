"""What `project` takes from a fact: a sub-document with just the chosen paths, in the fact's own shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from shared.definitions.field_paths import segments
from shared.entries.changes.change import own_properties

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.definitions.model import Index

# Field name to the fields taken below it; None takes the whole value.
PathTree: TypeAlias = "dict[str, PathTree | None]"
Selection: TypeAlias = "Callable[[dict[str, Any]], dict[str, Any]]"


def compile_selection(index: Index) -> Selection:
    """Takes what the index projects from a document, in which the element of `each` stands by its name."""
    if index.project == "all":
        return own_properties
    if index.project == "keys":
        return lambda _: {}
    return compile_paths(index.project)


def compile_paths(paths: tuple[str, ...]) -> Selection:
    """Takes the values at these dotted paths from a document, in its own shape."""
    tree = path_tree(paths)
    if all(below is None for below in tree.values()):
        names = tuple(tree)
        return lambda document: {name: document[name] for name in names if name in document}
    return lambda document: _pick(tree, document)


def path_tree(paths: tuple[str, ...]) -> PathTree:
    """What is taken at these paths, by the names of fields."""
    root: PathTree = {}
    # Shorter paths first: what takes a whole value takes what is below it too.
    for names in sorted((segments(path) or (path,) for path in paths), key=len):
        below = root
        for name in names[:-1]:
            step = below.setdefault(name, {})
            if step is None:
                break
            below = step
        else:
            below[names[-1]] = None
    return root


def _pick(tree: PathTree, document: dict[str, Any]) -> dict[str, Any]:
    picked: dict[str, Any] = {}
    for name, below in tree.items():
        if name not in document:
            continue
        value = document[name]
        if below is None:
            picked[name] = value
        elif isinstance(value, dict) and (inner := _pick(below, value)):
            picked[name] = inner
    return picked
