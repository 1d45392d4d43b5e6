"""The parameters of lookups, described: every key part in every way it can be asked for, and the options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shared.inputs.page_size import PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX
from shared.lookup.asking.conditions import NULL, parameter_names
from shared.lookup.asking.value_lists import IN, VALUES_MAX
from shared.lookup.batch import LOOKUPS_MAX
from shared.web.api.lookups import BATCH_MEMBERS
from shared.web.openapi.schema_parts import TEXT, VALUE_SCHEMAS, object_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.definitions.model import Index, KeyPart, PartType, Source
    from shared.web.openapi.schema_parts import Schema

_EXAMPLES: Final[dict[PartType, Any]] = {
    "integer": 12,
    "number": 12.5,
    "boolean": True,
    "datetime": "2024-05-01T12:00:00Z",
}
_MEANINGS: Final = {
    "": "equals",
    "gt": "is greater than",
    "ge": "is at least",
    "lt": "is less than",
    "le": "is at most",
    "prefix": "begins with",
    NULL: "is null or missing",
}


def lookup_parameters(index: Index, source: Source) -> list[Schema]:
    """The query parameters of a lookup: every part in every way, then the options."""
    found = [_condition(index, part, name) for part in index.parts for name in parameter_names(index, part)]
    return [*found, *_options(index, source)]


def _condition(index: Index, part: KeyPart, name: str) -> Schema:
    operator = name[len(part.name) + 1 :]
    if operator == IN:
        return _list(index, part, name)
    schema: Schema = {"type": "string", "enum": ["true"]} if operator == NULL else VALUE_SCHEMAS[part.type]
    return {
        "name": name,
        "in": "query",
        # A part of the partition must be asked for, but in one of several ways.
        "required": False,
        "description": f"{part.name} {_MEANINGS[operator]}{', without regard to case' if part.fold else ''}.",
        "schema": schema,
        "example": "true" if operator == NULL else _example(index, part),
    }


def _list(index: Index, part: KeyPart, name: str) -> Schema:
    """One of several values, as a JSON array."""
    items = VALUE_SCHEMAS[part.type]
    if part.keeps_nulls:
        items = {**items, "type": [items["type"], "null"]}
    fold = ", without regard to case" if part.fold else ""
    schema = {"type": "array", "items": items, "minItems": 1, "maxItems": VALUES_MAX, "uniqueItems": True}
    return {
        "name": name,
        "in": "query",
        "required": False,
        "description": f"{part.name} is one of these, as a JSON array{fold}.",
        "content": {"application/json": {"schema": schema, "example": [_example(index, part)]}},
    }


def _example(index: Index, part: KeyPart) -> Any:
    """A value of the part: one that the definition names, or any."""
    if index.hot and index.partition == (part,):
        return index.hot[0][0]
    return _EXAMPLES.get(part.type, f"a {part.name}")


def index_name(names: Sequence[str]) -> Schema:
    """The name of an index, as a part of the path."""
    return {"name": "name", "in": "path", "required": True, "schema": {"type": "string", "enum": list(names)}}


def count_parameters(index: Index, source: Source) -> list[Schema]:
    """The query parameters of a count: conditions, and `sees`."""
    unused = {"maxpagesize", "token", "select", "filter", "expand"} - {part.name for part in index.parts}
    return [parameter for parameter in lookup_parameters(index, source) if parameter["name"] not in unused]


def batch_body(index: Index, source: Source) -> Schema:
    """The body of many lookups: objects with the parameters of a lookup as values, and options for all of them."""
    parameters = {each["name"]: each for each in lookup_parameters(index, source)}
    members = {
        name: TEXT
        if name == "select"
        else parameter.get("schema") or parameter["content"]["application/json"]["schema"]
        for name, parameter in parameters.items()
    }
    lookup = {"type": "object", "properties": members, "additionalProperties": False}
    lookups = {"type": "array", "items": lookup, "minItems": 1, "maxItems": LOOKUPS_MAX}
    shared = {name: members[name] for name in BATCH_MEMBERS if name in members}
    schema = {**object_of(shared, lookups=lookups), "additionalProperties": False}
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def paging() -> list[Schema]:
    """How much to answer at once, and where to go on."""
    size = {"type": "integer", "minimum": 1, "maximum": PAGE_SIZE_MAX, "default": PAGE_SIZE_DEFAULT}
    return [
        option("maxpagesize", "At most how many a page has.", size),
        option("token", "Where to go on; comes with nextLink.", {"type": "string"}),
    ]


def _options(index: Index, source: Source) -> list[Schema]:
    options = paging()
    if index.project != "keys" or index.is_summary:
        select = option("select", "Which fields `data` holds, separated by commas.", _select_schema(index))
        options.append({**select, "style": "form", "explode": False})
    if "filter" not in [part.name for part in index.parts]:
        options.append(option("filter", "A JMESPath expression on `key` and `data` that must hold.", TEXT))
    if source.cosmos is not None and not index.is_summary:
        options.append(option("expand", "Fetch each fact, too.", {"type": "string", "enum": ["fact"]}))
    if source.cosmos is not None or source.version is not None:
        options.append(option("sees", "Wait until the index has this change, as JSON.", {"type": "string"}))
    return options


def _select_schema(index: Index) -> Schema:
    """The fields that `select` can name; of an index with all fields that may be any."""
    field: Schema = {"type": "string"}
    if index.summarize is not None:
        field["enum"] = [measure.name for measure in index.summarize]
    elif isinstance(index.project, tuple):
        field["enum"] = list(index.project)
    return {"type": "array", "items": field, "minItems": 1}


def option(name: str, description: str, schema: Schema) -> Schema:
    """A query parameter that may be left out."""
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}
