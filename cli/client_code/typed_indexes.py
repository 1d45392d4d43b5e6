"""What the classes of all languages say: the conditions, the key and the data of each index."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from shared.entries.projection.selection import path_tree
from shared.lookup.asking.conditions import NULL, parameter_names
from shared.lookup.asking.value_lists import IN

if TYPE_CHECKING:
    from collections.abc import Collection

    from shared.definitions.model import Definitions, Index, KeyPart
    from shared.entries.projection.selection import PathTree


@dataclass(frozen=True, slots=True)
class Condition:
    """A parameter of a lookup. Equality takes one value, several of them, or null where nulls are kept."""

    name: str
    part: KeyPart
    is_equality: bool
    is_required: bool


@dataclass(frozen=True, slots=True)
class MeasureField:
    """A field of a summary."""

    name: str
    is_whole: bool
    may_be_null: bool


# What `project` takes: fields below fields; None where it takes everything.
Data: TypeAlias = "PathTree | None"


@dataclass(frozen=True, slots=True)
class TypedIndex:
    """An index as a class."""

    name: str
    class_name: str
    conditions: tuple[Condition, ...]
    key: tuple[KeyPart, ...]
    data: Data
    measures: tuple[MeasureField, ...] | None
    selectable: tuple[str, ...] | None
    has_facts: bool


def typed_indexes(definitions: Definitions, taken: Collection[str]) -> list[TypedIndex]:
    """Every index, with a name for its class that is no other's and none of those taken."""
    names = set(taken)
    found = []
    for index in definitions.indexes.values():
        class_name = _class_name(index.name)
        while not names.isdisjoint(_names_beside(class_name)):
            class_name += "Index"
        names |= _names_beside(class_name)
        found.append(_typed_index(definitions, index, class_name))
    return found


def _names_beside(class_name: str) -> set[str]:
    """The class, and all types that are written with it."""
    suffixes = ("", "Conditions", "Count", "Options", "Lookup", "Key", "Data")
    return {class_name + suffix for suffix in suffixes} | {f"Async{class_name}"}


def _class_name(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in re.split("[-_]", name))


def _typed_index(definitions: Definitions, index: Index, class_name: str) -> TypedIndex:
    bound = {part for part, _ in definitions.access.of(index.name).bind}
    conditions = [
        Condition(name, part, name == part.name, name == part.name and part in index.partition and name not in bound)
        for part in index.parts
        for name in parameter_names(index, part)
        # A list of values, and null, are values of the part itself.
        if name not in {f"{part.name}.{IN}", f"{part.name}.{NULL}"}
    ]
    fields = index.project if isinstance(index.project, tuple) else None
    measures = index.summarize
    return TypedIndex(
        name=index.name,
        class_name=class_name,
        conditions=tuple(conditions),
        key=index.parts,
        data={} if index.project == "keys" else None if fields is None else path_tree(fields),
        measures=None
        if measures is None
        else tuple(
            MeasureField(each.name, each.path is None, each.path is not None and each.kind != "sum")
            for each in measures
        ),
        selectable=fields if measures is None else tuple(each.name for each in measures),
        has_facts=definitions.sources[index.source].cosmos is not None and measures is None,
    )
