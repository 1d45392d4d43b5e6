"""The OpenAPI 3.1 document of an app, made from its definitions: one path per index, with typed parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shared.web.openapi import schemas
from shared.web.openapi.calls import SECURITY, anonymous, call_with_key
from shared.web.openapi.dead_letters import dead_letter_paths, letter_schema
from shared.web.openapi.lifecycle import generation_schema, lifecycle_paths, served_schema, standing_schema
from shared.web.openapi.parameters import index_name, lookup_parameters
from shared.web.openapi.schema_parts import list_of, object_of, reference
from shared.web.openapi.status import advice_schema, history_schema, status_schema
from shared.web.openapi.verifications import verification_paths, verification_schema

if TYPE_CHECKING:
    from shared.definitions.model import Definitions, Index
    from shared.web.openapi.schemas import Schema

VERSION: Final = "3.1.0"


def openapi(definitions: Definitions) -> dict[str, Any]:
    """The whole document."""
    names = list(definitions.indexes)
    paths: dict[str, Any] = {
        **dict(_common_paths(names)),
        **lifecycle_paths(names),
        **verification_paths(names),
        **dead_letter_paths(definitions),
    }
    components: dict[str, Any] = {
        "Problem": schemas.problem_schema(),
        "Index": schemas.index_schema(),
        "Explanation": schemas.explanation_schema(),
        "Status": status_schema(),
        "DeadLetter": letter_schema(),
        "Generation": generation_schema(),
        "Standing": standing_schema(),
        "Served": served_schema(),
        "Verification": verification_schema(),
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
            "securitySchemes": SECURITY,
        },
    }


def _common_paths(names: list[str]) -> list[tuple[str, Any]]:
    listed = object_of(value=list_of(reference("Index")))
    one = call_with_key("getIndex", "One index", reference("Index"), [400, 404, 500, 503])
    one["parameters"] = [index_name(names)]
    return [
        ("/api/indexes", {"get": call_with_key("listIndexes", "All indexes", listed, [400, 500, 503])}),
        *([("/api/indexes/{name}", {"get": one})] if names else []),
        (
            "/api/openapi.json",
            {"get": call_with_key("getOpenApi", "This document", {"type": "object"}, [400, 500, 503])},
        ),
        ("/api/status", {"get": call_with_key("getStatus", "How the app is", reference("Status"), [400, 500, 503])}),
        (
            "/api/status/history",
            {"get": call_with_key("getLagHistory", "Lag over time", history_schema(), [400, 500, 503])},
        ),
        (
            "/api/advice",
            {"get": call_with_key("getAdvice", "Every index in numbers, and advice", advice_schema(), [400, 500, 503])},
        ),
        ("/api/health/live", {"get": anonymous("isLive", "The process runs", [])}),
        ("/api/health/ready", {"get": anonymous("isReady", "The app can do its work", [500, 503])}),
    ]


def _lookup(index: Index, definitions: Definitions, entry: str) -> Schema:
    source = definitions.sources[index.source]
    lookup = call_with_key(
        f"find.{index.name}",
        f"Look up entries of {index.name}",
        schemas.page_schema(entry),
        [400, 404, 410, 500, 503],
    )
    lookup["parameters"] = [
        *lookup_parameters(index, source, is_explain=False),
        {"name": "If-None-Match", "in": "header", "required": False, "schema": {"type": "string"}},
    ]
    lookup["responses"]["200"]["headers"] = {"ETag": {"schema": {"type": "string"}}}
    lookup["responses"]["304"] = {"description": "The page that If-None-Match names has not changed."}
    return lookup


def _explanation(index: Index, definitions: Definitions) -> Schema:
    explanation = call_with_key(
        f"explain.{index.name}",
        f"How a lookup of {index.name} would run",
        reference("Explanation"),
        [400, 404, 410, 500, 503],
    )
    source = definitions.sources[index.source]
    explanation["parameters"] = lookup_parameters(index, source, is_explain=True)
    return explanation
