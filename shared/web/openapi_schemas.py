"""The pieces of the OpenAPI document: JSON Schemas of what lookups take and give, made from an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from shared.lookup.conditions import NULL, parameter_names
from shared.lookup.faults import TITLES
from shared.lookup.options import PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX
from shared.web.failures import DEFINITIONS_BROKEN, INTERNAL, KINDS
from shared.web.problems import MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.definitions.model import Index, KeyPart, PartType, Source

Schema: TypeAlias = dict[str, Any]

VALUE_SCHEMAS: Final[dict[PartType, Schema]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "datetime": {"type": "string", "format": "date-time"},
}
EXAMPLES: Final[dict[PartType, Any]] = {
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
_OBJECT: Final = {"type": "object"}


def problem_schema() -> Schema:
    """An error body."""
    codes = sorted({*TITLES, *(kind.code for kind in KINDS.values()), DEFINITIONS_BROKEN.code, INTERNAL.code})
    return {
        "type": "object",
        "required": ["type", "title", "status", "detail", "code"],
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "code": {"type": "string", "enum": codes},
            "errors": {"type": "array", "items": {"type": "object", "required": ["code", "detail"]}},
        },
    }


def index_schema() -> Schema:
    """What `/api/indexes` tells about an index."""
    part = {
        "type": "object",
        "required": ["name", "path", "type", "order", "fold", "nulls"],
        "properties": {
            "name": {"type": "string"},
            "path": {"type": "string"},
            "type": {"enum": list(VALUE_SCHEMAS)},
            "order": {"enum": ["asc", "desc"]},
            "fold": {"enum": ["case", None]},
            "nulls": {"enum": ["index", "skip"]},
        },
    }
    return {
        "type": "object",
        "required": ["name", "source", "partition", "sort", "project", "shards", "state", "generation"],
        "properties": {
            "name": {"type": "string"},
            "source": {"type": "string"},
            "partition": {"type": "array", "items": part},
            "sort": {"type": "array", "items": part},
            "project": {"oneOf": [{"enum": ["all", "keys"]}, {"type": "array", "items": {"type": "string"}}]},
            "shards": {"type": "integer"},
            "state": {"enum": ["active", "building"]},
            "generation": {"type": ["string", "null"]},
            "each": _OBJECT,
            "where": {"type": "string"},
        },
    }


def entry_schema(index: Index, source: Source) -> Schema:
    """An entry of an index."""
    key = {part.name: _nullable(VALUE_SCHEMAS[part.type], part) for part in index.parts}
    properties: Schema = {
        "id": {"type": "string"},
        "version": {"type": "string", "description": "When the entry last changed; later ones sort higher."},
        "key": {"type": "object", "required": list(key), "properties": key},
        "data": _OBJECT,
        "isReference": {"const": True, "description": "The projection did not fit; fetch the fact."},
    }
    required = ["id", "version", "key", "data"]
    if source.partition_key:
        properties["partitionKey"] = {}
        required.append("partitionKey")
    if source.cosmos is not None:
        properties["fact"] = _OBJECT
    return {"type": "object", "required": required, "properties": properties}


def page_schema(entry: str) -> Schema:
    """A page of entries of the schema with this name."""
    return {
        "type": "object",
        "required": ["value"],
        "properties": {
            "value": {"type": "array", "items": {"$ref": f"#/components/schemas/{entry}"}},
            "nextLink": {"type": "string", "description": "The next page; absent on the last one."},
            "readFrom": {"const": "secondary", "description": "The primary endpoint did not answer."},
        },
    }


def explanation_schema() -> Schema:
    """What `explain` tells."""
    return {
        "type": "object",
        "required": ["index", "access", "explanation", "generation", "table", "storageTransactionsPerPage"],
        "properties": {
            "access": {"enum": ["point", "range", "partition", "fan-out", "refused"]},
            "partitionKeys": {"type": "array", "items": {"type": "string"}},
            "rowKeys": {"type": "object", "required": ["from", "before"]},
            "shards": {"type": "integer"},
            "storageTransactionsPerPage": {"type": "integer"},
            "factReadsPerPage": {"type": "integer"},
            "comparesStoredValues": {"type": "boolean"},
            "errors": {"type": "array", "items": {"type": "object", "required": ["code", "parameter", "detail"]}},
        },
    }


def _nullable(schema: Schema, part: KeyPart) -> Schema:
    return {**schema, "type": [schema["type"], "null"]} if part.keeps_nulls else schema


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
        "example": "true" if operator == NULL else EXAMPLES[part.type],
    }


def _options(index: Index, source: Source) -> list[Schema]:
    size = {"type": "integer", "minimum": 1, "maximum": PAGE_SIZE_MAX, "default": PAGE_SIZE_DEFAULT}
    options = [
        _option("maxpagesize", "At most how many entries a page has.", size),
        _option("token", "Where to go on; comes with nextLink.", {"type": "string"}),
    ]
    if fields := _fields(index):
        schema = {"type": "array", "items": {"type": "string", "enum": fields}, "minItems": 1}
        options.append({**_option("select", "Which fields `data` holds.", schema), "style": "form", "explode": False})
    if source.cosmos is not None:
        options.append(_option("expand", "Fetch each fact, too.", {"enum": ["fact"]}))
    if source.cosmos is not None or source.version is not None:
        options.append(_option("sees", "Wait until the index has this change, as JSON.", {"type": "string"}))
    return options


def _fields(index: Index) -> list[str]:
    """The fields that `select` can name; of an index with all fields any, so none are listed."""
    return list(index.project) if isinstance(index.project, tuple) else []


def _option(name: str, description: str, schema: Schema) -> Schema:
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}


def responses(schema: Schema, problems: Sequence[int]) -> Schema:
    """The answers of a call: the good one, the problems with these statuses, and 401, which the platform gives."""
    found: Schema = {"200": {"description": "Fine.", "content": {"application/json": {"schema": schema}}}}
    for status in problems:
        content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
        found[str(status)] = {"description": _STATUSES[status], "content": content}
    return found


_STATUSES: Final = {
    400: "The request cannot be answered as it is; `code` and `errors` say why.",
    404: "There is no such index.",
    410: "The token's generation is retired.",
    500: "Something went wrong inside.",
    503: "Not now; `code` says why.",
}
