"""JSON Schemas of what the API gives, for the OpenAPI document; entries have the types of their index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from shared.inputs.faults import TITLES
from shared.web.error_problems import DEFINITIONS_BROKEN, INTERNAL, KINDS, REFUSALS
from shared.web.openapi.schema_parts import reference

if TYPE_CHECKING:
    from shared.definitions.model import Index, KeyPart, PartType, Source

Schema: TypeAlias = dict[str, Any]

VALUE_SCHEMAS: Final[dict[PartType, Schema]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "datetime": {"type": "string", "format": "date-time"},
}
_OBJECT: Final = {"type": "object"}
# What must never change under a source's name.
_IDENTITY: Final = {
    "type": "object",
    "required": ["id", "partitionKey", "version"],
    "properties": {
        "id": {"type": "string"},
        "partitionKey": {"type": "array", "items": {"type": "string"}},
        "version": {"type": "string"},
    },
}


def problem_schema() -> Schema:
    """An error body."""
    kinds = (*KINDS.values(), *REFUSALS.values(), DEFINITIONS_BROKEN, INTERNAL)
    codes = sorted({*TITLES, *(kind.code for kind in kinds)})
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
        "required": ["name", "source", "identity", "partition", "sort", "project", "shards", "state", "generation"],
        "properties": {
            "name": {"type": "string"},
            "source": {"type": "string"},
            "identity": _IDENTITY,
            "partition": {"type": "array", "items": part},
            "sort": {"type": "array", "items": part},
            "project": {"oneOf": [{"enum": ["all", "keys"]}, {"type": "array", "items": {"type": "string"}}]},
            "shards": {"type": "integer"},
            "state": {"enum": ["serving", "building"]},
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
            "value": {"type": "array", "items": reference(entry)},
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
            "accounts": {"type": "array", "items": {"type": "string"}},
            "partitionKeys": {"type": "array", "items": {"type": "string"}},
            "rowKeys": {"type": "object", "required": ["from", "before"]},
            "shards": {"type": "integer"},
            "tables": {"type": "integer"},
            "storageTransactionsPerPage": {"type": "integer"},
            "factReadsPerPage": {"type": "integer"},
            "comparesStoredValues": {"type": "boolean"},
            "errors": {"type": "array", "items": {"type": "object", "required": ["code", "parameter", "detail"]}},
        },
    }


def _nullable(schema: Schema, part: KeyPart) -> Schema:
    return {**schema, "type": [schema["type"], "null"]} if part.keeps_nulls else schema
