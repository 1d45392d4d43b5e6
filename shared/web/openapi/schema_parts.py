"""What JSON Schemas of the OpenAPI document are put together from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.web.openapi.schemas import Schema

TEXT: Final[Schema] = {"type": "string"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
CLAIM: Final[Schema] = {"type": "boolean"}
INSTANT: Final[Schema] = {"type": "string", "format": "date-time"}


def object_of(optional: Mapping[str, Schema] | None = None, /, **required: Schema) -> Schema:
    """An object with these members."""
    return {"type": "object", "required": list(required), "properties": {**required, **(optional or {})}}


def list_of(items: Schema) -> Schema:
    """Any number of these."""
    return {"type": "array", "items": items}


def or_null(schema: Schema) -> Schema:
    """What may not be known."""
    return {**schema, "type": [schema["type"], "null"]}


def reference(name: str) -> Schema:
    """The component of this name."""
    return {"$ref": f"#/components/schemas/{name}"}


def one_or_null(name: str) -> Schema:
    """The component of this name, or nothing."""
    return {"anyOf": [reference(name), {"type": "null"}]}


def body_of(**members: Schema) -> Schema:
    """The body of a call: an object with some of these members, and no others; it may be left out."""
    schema = {"type": "object", "properties": members, "additionalProperties": False}
    return {"required": False, "content": {"application/json": {"schema": schema}}}
