"""The parameters of lookups, described: every key part in every way it can be asked for, and the options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shared.inputs.page_size import PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX
from shared.lookup.conditions import NULL, parameter_names
from shared.web.openapi.schema_parts import VALUE_SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.definitions.model import Index, KeyPart, PartType, Source
    from shared.web.openapi.schema_parts import Schema

_EXAMPLES: Final[dict[PartType, Any]] = {
    "string": "Smith",
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


def lookup_parameters(index: Index, source: Source, *, is_explain: bool) -> list[Schema]:
    """The query parameters of a lookup: every part in every way, then the options."""
    found = [
        _condition(part, name, is_required=part in index.partition and name == part.name and not part.keeps_nulls)
        for part in index.parts
        for name in parameter_names(part)
        if part in index.sort or name in (part.name, f"{part.name}.{NULL}")
    ]
    if is_explain:
        # Explains also why a lookup is refused, so nothing is required of it.
        found = [{**parameter, "required": False} for parameter in found]
    return [*found, *_options(index, source)]


def _condition(part: KeyPart, name: str, *, is_required: bool) -> Schema:
    operator = name[len(part.name) + 1 :]
    schema: Schema = {"enum": ["true"]} if operator == NULL else VALUE_SCHEMAS[part.type]
    return {
        "name": name,
        "in": "query",
        "required": is_required,
        "description": f"{part.name} {_MEANINGS[operator]}{', without regard to case' if part.fold else ''}.",
        "schema": schema,
        "example": "true" if operator == NULL else _EXAMPLES[part.type],
    }


def index_name(names: Sequence[str]) -> Schema:
    """The name of an index, as a part of the path."""
    return {"name": "name", "in": "path", "required": True, "schema": {"type": "string", "enum": list(names)}}


def paging() -> list[Schema]:
    """How much to answer at once, and where to go on."""
    size = {"type": "integer", "minimum": 1, "maximum": PAGE_SIZE_MAX, "default": PAGE_SIZE_DEFAULT}
    return [
        option("maxpagesize", "At most how many a page has.", size),
        option("token", "Where to go on; comes with nextLink.", {"type": "string"}),
    ]


def _options(index: Index, source: Source) -> list[Schema]:
    options = paging()
    if index.project != "keys":
        select = option("select", "Which fields `data` holds, separated by commas.", _select_schema(index))
        options.append({**select, "style": "form", "explode": False})
    if source.cosmos is not None:
        options.append(option("expand", "Fetch each fact, too.", {"enum": ["fact"]}))
    if source.cosmos is not None or source.version is not None:
        options.append(option("sees", "Wait until the index has this change, as JSON.", {"type": "string"}))
    return options


def _select_schema(index: Index) -> Schema:
    """The fields that `select` can name; of an index with all fields that may be any."""
    field: Schema = {"type": "string"}
    if isinstance(index.project, tuple):
        field["enum"] = list(index.project)
    return {"type": "array", "items": field, "minItems": 1}


def option(name: str, description: str, schema: Schema) -> Schema:
    """A query parameter that may be left out."""
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}
