"""The OpenAPI 3.1 document of an app, made from its definitions: one path per index, with typed parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shared.web import openapi_schemas as schemas
from shared.web.openapi_parameters import lookup_parameters
from shared.web.openapi_status import advice_schema, history_schema, status_schema

if TYPE_CHECKING:
    from shared.definitions.model import Definitions, Index
    from shared.web.openapi_schemas import Schema

VERSION: Final = "3.1.0"
_KEY: Final[list[dict[str, list[str]]]] = [{"functionKey": []}]


def openapi(definitions: Definitions) -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, Any] = dict(_common_paths(list(definitions.indexes)))
    components: dict[str, Any] = {
        "Problem": schemas.problem_schema(),
        "Index": schemas.index_schema(),
        "Explanation": schemas.explanation_schema(),
        "Status": status_schema(),
    }
    for index in definitions.indexes.values():
        source = definitions.sources[index.source]
        entry = f"Entry.{index.name}"
        components[entry] = schemas.entry_schema(index, source)
        base = f"/api/indexes/{index.name}"
        paths[f"{base}/entries"] = {"get": _lookup(index, definitions, entry)}
        paths[f"{base}/explain"] = {"get": _explanation(index, definitions)}
    return {
        "openapi": VERSION,
        "info": {
            "title": "Index Tables",
            "version": "1.0",
            "description": "Look up facts by what they contain. docs/http-api.md says more.",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"functionKey": {"type": "apiKey", "in": "header", "name": "x-functions-key"}},
        },
    }


def _common_paths(names: list[str]) -> list[tuple[str, Any]]:
    listed = {
        "type": "object",
        "required": ["value"],
        "properties": {"value": {"type": "array", "items": {"$ref": "#/components/schemas/Index"}}},
    }
    one = _operation("getIndex", "One index", _reference("Index"), [400, 404, 500, 503])
    one["parameters"] = [{"name": "name", "in": "path", "required": True, "schema": {"type": "string", "enum": names}}]
    return [
        ("/api/indexes", {"get": _operation("listIndexes", "All indexes", listed, [400, 500, 503])}),
        *([("/api/indexes/{name}", {"get": one})] if names else []),
        ("/api/openapi.json", {"get": _operation("getOpenApi", "This document", {"type": "object"}, [400, 500, 503])}),
        ("/api/status", {"get": _operation("getStatus", "How the app is", _reference("Status"), [400, 500, 503])}),
        (
            "/api/status/history",
            {"get": _operation("getLagHistory", "Lag over time", history_schema(), [400, 500, 503])},
        ),
        (
            "/api/advice",
            {"get": _operation("getAdvice", "Every index in numbers, and advice", advice_schema(), [400, 500, 503])},
        ),
        ("/api/health/live", {"get": _anonymous("isLive", "The process runs", [])}),
        ("/api/health/ready", {"get": _anonymous("isReady", "The app can do its work", [500, 503])}),
    ]


def _lookup(index: Index, definitions: Definitions, entry: str) -> Schema:
    source = definitions.sources[index.source]
    operation = _operation(
        f"find.{index.name}",
        f"Look up entries of {index.name}",
        schemas.page_schema(entry),
        [400, 404, 410, 500, 503],
    )
    operation["parameters"] = [
        *lookup_parameters(index, source, is_explain=False),
        {"name": "If-None-Match", "in": "header", "required": False, "schema": {"type": "string"}},
    ]
    operation["responses"]["200"]["headers"] = {"ETag": {"schema": {"type": "string"}}}
    operation["responses"]["304"] = {"description": "The page that If-None-Match names has not changed."}
    return operation


def _explanation(index: Index, definitions: Definitions) -> Schema:
    operation = _operation(
        f"explain.{index.name}",
        f"How a lookup of {index.name} would run",
        _reference("Explanation"),
        [400, 404, 410, 500, 503],
    )
    source = definitions.sources[index.source]
    operation["parameters"] = lookup_parameters(index, source, is_explain=True)
    return operation


def _reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _operation(operation_id: str, summary: str, schema: Schema, problems: list[int]) -> Schema:
    responses = schemas.responses(schema, problems)
    responses["401"] = {"description": "The function key is missing or wrong."}
    return {"operationId": operation_id, "summary": summary, "security": _KEY, "responses": responses}


def _anonymous(operation_id: str, summary: str, problems: list[int]) -> Schema:
    responses = schemas.responses({"type": "object"}, problems)
    return {"operationId": operation_id, "summary": summary, "security": [], "responses": responses}
