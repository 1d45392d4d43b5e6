"""What JSON Schemas of the OpenAPI document are put together from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.definitions.model import PartType

Schema: TypeAlias = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
SWITCH: Final[Schema] = {"type": "boolean"}
# A value of a fact's partition key.
PARTITION_KEY_VALUE: Final[Schema] = {
    "anyOf": [
        TEXT,
        {"type": "number"},
        {"type": "boolean"},
        {"type": "null"},
        {"type": "object", "maxProperties": 0, "description": "The fact lacks it."},
    ]
}
# Of the values of key parts.
VALUE_SCHEMAS: Final[dict[PartType, Schema]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "datetime": {"type": "string", "format": "date-time"},
}


def object_of(optional: Mapping[str, Schema] | None = None, /, **required: Schema) -> Schema:
    """An object with these members."""
    return {"type": "object", "required": list(required), "properties": {**required, **(optional or {})}}


def reference(name: str) -> Schema:
    """The component of this name."""
    return {"$ref": f"#/components/schemas/{name}"}


def body_of(**members: Schema) -> Schema:
    """The body of a call: an object with some of these members, and no others; it may be left out."""
    schema = {"type": "object", "properties": members, "additionalProperties": False}
    return {"required": False, "content": {"application/json": {"schema": schema}}}
