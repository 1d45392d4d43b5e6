"""Typed classes for the Python client."""

from __future__ import annotations

import json
import keyword
import re
from typing import TYPE_CHECKING, Final

from cli.client_code.typed_indexes import typed_indexes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cli.client_code.typed_indexes import Condition, TypedIndex
    from shared.definitions.model import Definitions, KeyPart, PartType
    from shared.entries.projection.selection import PathTree

_TYPES: Final[dict[PartType, str]] = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "datetime": "str",
}
_HEAD: Final = '''\
"""Typed indexes, written by `index-tables client python`: write them anew when the definitions change."""

# ruff: noqa

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Required, TypedDict, Unpack

from index_tables import AsyncIndex, AsyncIndexTables, Count, Entry, Explanation, Index, IndexTables, Page, ProblemError
'''
_CLASS: Final = '''\
class {prefix}{name}:
    """The index {index}."""

    def __init__(self, tables: {prefix}IndexTables) -> None:
        self.index: {prefix}Index[{name}Key, {name}Data] = {prefix}Index(tables, {index!r})

    def find(self, **asked: Unpack[{name}Lookup]) -> {prefix}Iterator[Entry[{name}Key, {name}Data]]:
        """Every entry, over all pages."""
        return self.index.find(asked)

    def pages(self, **asked: Unpack[{name}Lookup]) -> {prefix}Iterator[Page[{name}Key, {name}Data]]:
        """Every page."""
        return self.index.pages(asked)

    {def_} page(self, **asked: Unpack[{name}Lookup]) -> Page[{name}Key, {name}Data]:
        """The first page."""
        return {await_}self.index.page(asked)

    {def_} next_page(self, page: Page[{name}Key, {name}Data]) -> Page[{name}Key, {name}Data] | None:
        """The page after this one; None after the last one."""
        return {await_}self.index.next_page(page)

    {def_} refresh(self, page: Page[{name}Key, {name}Data]) -> Page[{name}Key, {name}Data]:
        """The same page as it is now: the very same object when it has not changed."""
        return {await_}self.index.refresh(page)

    {def_} get_many(
        self, lookups: Sequence[{name}Lookup], **options: Unpack[{name}Options]
    ) -> list[Page[{name}Key, {name}Data] | ProblemError]:
        """The first page of each lookup, or the problem that it has instead, in the order asked."""
        return {await_}self.index.get_many(lookups, options)

    {def_} count(self, **asked: Unpack[{name}Count]) -> Count:
        """How many entries there are."""
        return {await_}self.index.count(asked)

    {def_} explain(self, **asked: Unpack[{name}Lookup]) -> Explanation:
        """How that lookup would run."""
        return {await_}self.index.explain(asked)
'''
# What the head imports: no class may have such a name.
_TAKEN: Final = frozenset(name for name in re.findall(r"\w+", _HEAD.partition("# ruff")[2]) if name[0].isupper())


def python_code(definitions: Definitions) -> str:
    """A module with a class for each index, one that waits and one that awaits."""
    return "\n\n".join([_HEAD, *(block for each in typed_indexes(definitions, _TAKEN) for block in _blocks(each))])


def _blocks(index: TypedIndex) -> Iterator[str]:
    name = index.class_name
    sees = {"sees": "str | Mapping[str, Any]"}
    conditions = {_keyword(each): _condition(each) for each in index.conditions}
    yield _typed_dict(f"{name}Conditions", conditions, total=False)
    yield _typed_dict(f"{name}Count", sees, total=False, base=f"{name}Conditions")
    options = {option: kind for option, kind in _options(index).items() if option not in conditions}
    yield _typed_dict(f"{name}Options", {**sees, **options}, total=False)
    yield _typed_dict(f"{name}Lookup", {**sees, **options}, total=False, base=f"{name}Conditions")
    yield _typed_dict(f"{name}Key", {part.name: _kept(part) for part in index.key})
    yield from _data(index)
    for prefix, define, wait in (("", "def", ""), ("Async", "async def", "await ")):
        yield _CLASS.format(name=name, index=index.name, prefix=prefix, def_=define, await_=wait)


def _keyword(condition: Condition) -> str:
    return condition.name.replace(".", "__")


def _condition(condition: Condition) -> str:
    kind = _TYPES[condition.part.type]
    if condition.part.type == "datetime":
        kind = "str | datetime"
    if not condition.is_equality:
        return kind
    either = f"{kind} | None" if condition.part.keeps_nulls else kind
    whole = f"{either} | Sequence[{either}]"
    return f"Required[{whole}]" if condition.is_required else whole


def _kept(part: KeyPart) -> str:
    return f"{_TYPES[part.type]} | None" if part.keeps_nulls else _TYPES[part.type]


def _options(index: TypedIndex) -> dict[str, str]:
    options = {"page_size": "int", "filter": "str"}
    if index.selectable is not None:
        options["select"] = f"Sequence[Literal[{', '.join(map(repr, index.selectable))}]]"
    elif index.data is None:
        options["select"] = "str | Sequence[str]"
    if index.has_facts:
        options["expand"] = 'Literal["fact"]'
    return options


def _data(index: TypedIndex) -> Iterator[str]:
    name = f"{index.class_name}Data"
    if index.measures is not None:
        kinds = {
            each.name: f"{'int' if each.is_whole else 'float'}{' | None' * each.may_be_null}" for each in index.measures
        }
        yield _typed_dict(name, kinds, total=False)
    elif index.data is None:
        yield f"{name} = dict[str, Any]\n"
    else:
        yield from _tree(name, index.data)


def _tree(name: str, tree: PathTree) -> Iterator[str]:
    """The dictionaries below come first: they are named in those above."""
    fields = {}
    for number, (field, below) in enumerate(tree.items()):
        fields[field] = "Any" if below is None else f"{name}{number}"
        if below is not None:
            yield from _tree(f"{name}{number}", below)
    yield _typed_dict(name, fields, total=False)


def _typed_dict(name: str, fields: dict[str, str], *, total: bool = True, base: str = "TypedDict") -> str:
    """As a class where all names can stand in one."""
    how = "" if total else ", total=False"
    if all(each.isidentifier() and not keyword.iskeyword(each) for each in fields):
        lines: Iterable[str] = (f"    {field}: {kind}\n" for field, kind in fields.items())
        return f"class {name}({base}{how}):\n{''.join(lines) or '    pass' + chr(10)}"
    listed = ", ".join(f"{json.dumps(field, ensure_ascii=False)}: {kind}" for field, kind in fields.items())
    return f'{name} = TypedDict("{name}", {{{listed}}}{how})\n'
