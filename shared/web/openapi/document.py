"""The OpenAPI 3.1 document of an app, made from its definitions: one path per index, with typed parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shared.advice.advice_json import AdviceReportJson
from shared.inputs.parameters import no_parameters
from shared.lookup.explain import ExplanationJson
from shared.monitoring.status_json import StatusJson
from shared.web.answers import json_answer
from shared.web.api.health import HealthJson
from shared.web.api.index_descriptions import IndexJson, IndexListJson
from shared.web.api.status import LagHistoryJson
from shared.web.openapi.calls import SECURITY, anonymous, call_with_key
from shared.web.openapi.dead_letters import dead_letter_paths
from shared.web.openapi.lifecycle import lifecycle_paths
from shared.web.openapi.parameters import index_name, lookup_parameters
from shared.web.openapi.schemas import component_schemas, page_schema, schema_of
from shared.web.openapi.verifications import verification_paths

if TYPE_CHECKING:
    from shared.definitions.model import Definitions, Index
    from shared.web.answers import HttpAnswer
    from shared.web.openapi.schema_parts import Schema

VERSION: Final = "3.1.0"


async def answer_openapi(definitions: Definitions, url: str) -> HttpAnswer:
    """The description of the API, as it is answered."""
    no_parameters(url)
    return json_answer(openapi(definitions))


def openapi(definitions: Definitions) -> dict[str, Any]:
    """The whole document."""
    names = list(definitions.indexes)
    paths: dict[str, Any] = {
        **_common_paths(names),
        **lifecycle_paths(names),
        **verification_paths(names),
        **dead_letter_paths(definitions),
    }
    for index in definitions.indexes.values():
        base = f"/api/indexes/{index.name}"
        paths[f"{base}/entries"] = {"get": _lookup(index, definitions)}
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
            "schemas": component_schemas(definitions),
            "securitySchemes": SECURITY,
        },
    }


def _common_paths(names: list[str]) -> dict[str, Any]:
    """The calls that need no definition, and those about an index by its name."""
    index = {
        **call_with_key("getIndex", "One index", schema_of(IndexJson), [400, 404, 500, 503]),
        "parameters": [index_name(names)],
    }
    return {
        "/api/indexes": {"get": _read("listIndexes", "All indexes", schema_of(IndexListJson))},
        **({"/api/indexes/{name}": {"get": index}} if names else {}),
        "/api/openapi.json": {"get": _read("getOpenApi", "This document", {"type": "object"})},
        "/api/status": {"get": _read("getStatus", "How the app is", schema_of(StatusJson))},
        "/api/status/history": {"get": _read("getLagHistory", "Lag over time", schema_of(LagHistoryJson))},
        "/api/advice": {"get": _read("getAdvice", "Every index in numbers, and advice", schema_of(AdviceReportJson))},
        "/api/health/live": {"get": anonymous("isLive", "The process runs", schema_of(HealthJson), [])},
        "/api/health/ready": {
            "get": anonymous("isReady", "The app can do its work", schema_of(HealthJson), [500, 503])
        },
    }


def _read(operation_id: str, summary: str, answer: Schema) -> Schema:
    return call_with_key(operation_id, summary, answer, [400, 500, 503])


def _lookup(index: Index, definitions: Definitions) -> Schema:
    source = definitions.sources[index.source]
    lookup = call_with_key(
        f"find.{index.name}",
        f"Look up entries of {index.name}",
        page_schema(index),
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
        schema_of(ExplanationJson),
        [400, 404, 410, 500, 503],
    )
    source = definitions.sources[index.source]
    explanation["parameters"] = lookup_parameters(index, source, is_explain=True)
    return explanation
