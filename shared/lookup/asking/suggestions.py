"""What would answer a lookup that its index cannot: another index, or the definition of a new one.

Each suggestion has been planned before it is made: it is never one that would be refused itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shared.definitions.field_paths import segments
from shared.definitions.model import Index, KeyPart
from shared.entries.keys.index_keys import IndexKeys
from shared.errors import BadLookupError
from shared.inputs.faults import REFUSALS
from shared.lookup.asking.conditions import COMPARISONS, NULL
from shared.lookup.asking.options import NAMES, read_options
from shared.lookup.asking.plan import plan
from shared.lookup.asking.value_lists import IN

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from shared.definitions.model import Source
    from shared.errors import Fault, SuggestionJson
    from shared.lookup.generations import ReadableGeneration

# What another index may have an answer to: a lookup that fits no key, or names what is no part of it.
_ANSWERABLE: Final = REFUSALS | {"UnknownParameter"}
_OPERATORS: Final = (NULL, IN, *COMPARISONS)
_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9_]")
# Of 63 that the name of an index may have.
_NAME_BEGINS: Final = 50


class _Asked(NamedTuple):
    """A condition: on which field, with which operator, and the part of the index that was asked, if it is one."""

    path: str
    operator: str
    text: str
    part: KeyPart | None

    @property
    def is_equality(self) -> bool:
        return self.operator in ("", NULL, IN)


def suggestion(
    asked: ReadableGeneration,
    others: Iterable[ReadableGeneration],
    names: Collection[str],
    parameters: Mapping[str, str],
    faults: Sequence[Fault],
) -> SuggestionJson | None:
    """What would answer these parameters, of which these faults were found; None when nothing is known to.

    `names` are those of all indexes: a new one gets another.
    """
    if any(each.code not in _ANSWERABLE for each in faults):
        return None
    others = list(others)
    options = {name: text for name, text in parameters.items() if name in NAMES and name != "token"}
    conditions = [_condition(asked.index, name, text) for name, text in parameters.items() if name not in NAMES]
    if not conditions:
        return None
    for other in others:
        if (found := _parameters_for(other, asked, conditions, options)) is not None:
            return {"index": other.index.name, "parameters": found}
    definition = _definition(asked, [other.index for other in others], names, conditions, options)
    return None if definition is None else {"definition": definition}


def _condition(index: Index, name: str, text: str) -> _Asked:
    by_name = {part.name: part for part in index.parts}
    base, _, operator = name.rpartition(".")
    if name in by_name or operator not in _OPERATORS:
        base, operator = name, ""
    part = by_name.get(base)
    return _Asked(base if part is None else part.path, operator, text, part)


def _parameters_for(
    other: ReadableGeneration, asked: ReadableGeneration, conditions: Sequence[_Asked], options: Mapping[str, str]
) -> dict[str, str] | None:
    """The parameters that ask another index the same; None when it has no answer, or one about other facts."""
    if _subject(other.index) != _subject(asked.index):
        return None
    if "filter" in options and not _shows_as_much(other.index, asked.index):
        return None
    parts = {part.name: part.name for part in other.index.parts} | {part.path: part.name for part in other.index.parts}
    if any(each.path not in parts for each in conditions):
        return None
    found = {f"{parts[each.path]}.{each.operator}".rstrip("."): each.text for each in conditions}
    return _answered(other.index, other.source, other.keys, {**found, **options})


def _subject(index: Index) -> tuple[object, ...]:
    """Which facts an index is about, and whether it shows them or adds them up."""
    return index.source, index.each, index.where, index.summarize


def _shows_as_much(other: Index, asked: Index) -> bool:
    """Whether a filter on entries of one index sees at least as much in those of another."""
    if not {part.name for part in asked.parts} <= {part.name for part in other.parts}:
        return False
    if "all" in (other.project, asked.project):
        return other.project == "all"
    return asked.project == "keys" or set(asked.project) <= set(other.project if other.project != "keys" else ())


def _answered(index: Index, source: Source, keys: IndexKeys, parameters: dict[str, str]) -> dict[str, str] | None:
    """The parameters, if the index answers them; without what only says how entries are shown, if need be."""
    shown = ("select", "expand")
    for tried in (parameters, {name: text for name, text in parameters.items() if name not in shown}):
        try:
            read_options(index, source, tried)
            plan(index, keys, tried)
        except BadLookupError:
            continue
        return tried
    return None


def _definition(
    asked: ReadableGeneration,
    others: Sequence[Index],
    names: Collection[str],
    asked_conditions: Sequence[_Asked],
    options: Mapping[str, str],
) -> str | None:
    """A definition like that of the index, with a key that answers; None where none is known to."""
    index = asked.index
    known = _known_parts(index, others)
    conditions = [each if each.part else _as_known(each, known) for each in asked_conditions]
    # A time of expiry has many forms, and a field that no index knows may be no field at all.
    if index.expire is not None or any(
        each.part is None and not any(_is_carried(index, other, each) for other in [index, *others])
        for each in conditions
    ):
        return None
    parts = {each.path: each.part or KeyPart(each.path, _name_of(each.path)) for each in conditions}
    equal = list(dict.fromkeys(each.path for each in conditions if each.is_equality))
    ranged = list(dict.fromkeys(each.path for each in conditions if each.path not in equal))
    lead = [path for path in equal if parts[path] in index.partition] or equal[:1]
    is_ambiguous = len({part.name for part in parts.values()}) < len(parts)
    if not lead or len(ranged) > 1 or is_ambiguous:
        return None
    sort = [path for path in [*equal, *ranged] if path not in lead]
    new = _NewIndex(index, [parts[path] for path in lead], [parts[path] for path in sort])
    built = new.built(names)
    renamed = {f"{parts[each.path].name}.{each.operator}".rstrip("."): each.text for each in conditions}
    if _answered(built, asked.source, IndexKeys(built), {**renamed, **options}) is None:
        return None
    return new.yaml(built)


def _known_parts(index: Index, others: Sequence[Index]) -> dict[str, KeyPart]:
    """What other indexes of the source know of the fields of its facts, by name and by path: above all their types."""
    parts = [
        KeyPart(part.path, part.name, part.type)
        for other in others
        for part in other.parts
        if other.source == index.source and _is_of_fact(index, other, part.path)
    ]
    paths: dict[str, set[str]] = {}
    for part in parts:
        paths.setdefault(part.name, set()).add(part.path)
    named = {part.name: part for part in parts if len(paths[part.name]) == 1}
    return named | {part.path: part for part in parts}


def _is_of_fact(index: Index, other: Index, path: str) -> bool:
    """Whether a path of another index leads to the same in this one, where an element may have the name of a field."""
    names = segments(path)
    elements = [each.name for each in (index.each, other.each) if each is not None]
    return index.each == other.each or (names is not None and names[0] not in elements)


def _as_known(condition: _Asked, known: Mapping[str, KeyPart]) -> _Asked:
    part = known.get(condition.path)
    return condition if part is None else condition._replace(path=part.path, part=part)


def _is_carried(index: Index, other: Index, condition: _Asked) -> bool:
    """Whether a field that is no key part is projected, so that there is one. Its type is not known: no ranges."""
    is_field = isinstance(other.project, tuple) and condition.path in other.project and other.source == index.source
    is_plain = index.each is None and other.each is None and segments(condition.path) is not None
    return is_field and is_plain and condition.operator in ("", IN)


def _name_of(path: str) -> str:
    """A name for a part, of the letters that it may have, and none that is a parameter anyway."""
    name = _NOT_IN_A_NAME.sub("_", (segments(path) or (path,))[-1]).lstrip("_0123456789") or "value"
    return f"{name}Value" if name in (*NAMES, "code", "clientId") else name


@dataclass(frozen=True, slots=True)
class _NewIndex:
    """A definition with the facts and fields of an index, and another key."""

    like: Index
    partition: Sequence[KeyPart]
    sort: Sequence[KeyPart]

    def built(self, names: Collection[str]) -> Index:
        """The definition as a value, under a name that no index has."""
        base = "-".join([self.like.source, "by", *(part.name.lower() for part in self.partition)])
        name = _NOT_IN_A_NAME.sub("-", base.replace("_", "-"))[:_NAME_BEGINS].strip("-")
        # Names that differ only in case are refused.
        taken = {each.lower() for each in names}
        while name.lower() in taken:
            name += "-2"
        partition = tuple(replace(part, order="asc") for part in self.partition)
        return replace(
            self.like, name=name, partition=partition, sort=tuple(self.sort), shards=1, hot=(), placement=None
        )

    def yaml(self, built: Index) -> str:
        """The definition as it stands in indexes.yaml."""
        import yaml  # only for callers that a refusal helps

        members: dict[str, Any] = {"source": built.source}
        if built.each is not None:
            members["each"] = {built.each.name: built.each.path}
        if built.where is not None:
            members["where"] = built.where
        members["partition"] = [_written(part) for part in built.partition]
        if built.sort:
            members["sort"] = [_written(part) for part in built.sort]
        if built.summarize is None:
            members["project"] = built.project if isinstance(built.project, str) else list(built.project)
        else:
            members["summarize"] = {measure.name: measure.written for measure in built.summarize}
        return str(yaml.safe_dump({"indexes": {built.name: members}}, sort_keys=False, allow_unicode=True))


def _written(part: KeyPart) -> str | dict[str, str]:
    written = {"path": part.path}
    if part.name != part.path:
        written["name"] = part.name
    if part.type != "string":
        written["type"] = part.type
    if part.order != "asc":
        written["order"] = part.order
    if part.fold:
        written["fold"] = "case"
    if part.keeps_nulls:
        written["nulls"] = "index"
    return part.path if len(written) == 1 else written
