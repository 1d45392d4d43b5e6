"""Typed classes for the TypeScript client."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from cli.client_code.typed_indexes import typed_indexes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cli.client_code.typed_indexes import Condition, TypedIndex
    from shared.definitions.model import Definitions, KeyPart, PartType
    from shared.entries.projection.selection import PathTree

_TYPES: Final[dict[PartType, str]] = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "datetime": "string",
}
_HEAD: Final = """\
// Typed indexes, written by `index-tables client typescript`: write them anew when the definitions change.
import { Index, type Entry, type Group, type IndexTables } from "index-tables";
"""
_CLASS: Final = """\
/** The index %(index)s. */
export class %(name)s extends Index<%(name)sConditions, %(entry)s<%(name)sKey, %(name)sData>> {
  constructor(tables: IndexTables) {
    super(tables, "%(index)s");
  }
}
"""
_TAKEN: Final = frozenset({"Entry", "Group", "Index", "IndexTables", "Record"})


def typescript_code(definitions: Definitions) -> str:
    """A module with a class for each index."""
    return "\n".join([_HEAD, *(block for each in typed_indexes(definitions, _TAKEN) for block in _blocks(each))])


def _blocks(index: TypedIndex) -> Iterator[str]:
    name = index.class_name
    conditions = {
        f"{_field(each.name)}{'' if each.is_required else '?'}": _condition(each) for each in index.conditions
    }
    yield _interface(f"{name}Conditions", conditions)
    yield _interface(f"{name}Key", {_field(part.name): _kept(part) for part in index.key})
    yield _data(index)
    entry = "Entry" if index.measures is None else "Group"
    yield _CLASS % {"name": name, "index": index.name, "entry": entry}


def _condition(condition: Condition) -> str:
    kind = _TYPES[condition.part.type]
    if condition.part.type == "datetime":
        kind = "string | Date"
    if not condition.is_equality:
        return kind
    either = f"{kind} | null" if condition.part.keeps_nulls else kind
    item = f"({either})" if " " in either else either
    return f"{either} | readonly {item}[]"


def _kept(part: KeyPart) -> str:
    return f"{_TYPES[part.type]} | null" if part.keeps_nulls else _TYPES[part.type]


def _data(index: TypedIndex) -> str:
    name = f"{index.class_name}Data"
    if index.measures is not None:
        measures = {f"{_field(each.name)}?": f"number{' | null' * each.may_be_null}" for each in index.measures}
        return _interface(name, measures)
    if index.data is None:
        return f"export type {name} = Record<string, unknown>;\n"
    return f"export type {name} = {_tree(index.data)};\n"


def _tree(tree: PathTree) -> str:
    """Fields of any type below fields; a select may leave out any of them."""
    fields = [f"{_field(name)}?: {'unknown' if below is None else _tree(below)}" for name, below in tree.items()]
    return f"{{ {'; '.join(fields)} }}" if fields else "Record<string, never>"


def _interface(name: str, fields: Mapping[str, str]) -> str:
    lines = "".join(f"  {field}: {kind};\n" for field, kind in fields.items())
    return f"export interface {name} {{\n{lines}}}\n"


def _field(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_$][\w$]*", name, re.ASCII) else json.dumps(name, ensure_ascii=False)
