"""The OpenAPI 3.1 document of an app, made from its definitions: one path per index, with typed parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from shared.advice.advice_json import AdviceReportJson
from shared.inputs.parameters import no_parameters
from shared.lookup.asking.explain import ExplanationJson
from shared.monitoring.status_json import StatusJson
from shared.web.answers import json_answer
from shared.web.api.health import HealthJson
from shared.web.api.index_descriptions import IndexJson, IndexListJson
from shared.web.api.lookups import CountJson
from shared.web.api.status import LagHistoryJson
from shared.web.openapi.calls import SECURITY, TOKEN_SECURITY, anonymous, call_with_key
from shared.web.openapi.dead_letters import dead_letter_paths
from shared.web.openapi.lifecycle import lifecycle_paths
from shared.web.openapi.parameters import batch_body, count_parameters, index_name, lookup_parameters
from shared.web.openapi.schemas import batch_schema, component_schemas, page_schema, schema_of
from shared.web.openapi.verifications import verification_paths

if TYPE_CHECKING:
    from shared.definitions.model import Definitions, Index
    from shared.web.access import Rights
    from shared.web.answers import HttpAnswer
    from shared.web.openapi.schema_parts import Schema

VERSION: Final = "3.1.0"
_IF_NONE_MATCH: Final = {"name": "If-None-Match", "in": "header", "required": False, "schema": {"type": "string"}}


async def answer_openapi(definitions: Definitions, rights: Rights, url: str) -> HttpAnswer:
    """The description of the API, as it is answered: without indexes that the caller may not read."""
    no_parameters(url)
    readable = rights.readable(definitions.indexes)
    shown = {name: definitions.indexes[name] for name in readable}
    document = openapi(replace(definitions, indexes=shown))
    if rights.principal is not None:
        document["components"]["securitySchemes"] = TOKEN_SECURITY
    return json_answer(document)


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
        paths[f"{base}/lookups"] = {"post": _batch(index, definitions)}
        paths[f"{base}/count"] = {"get": _count(index, definitions)}
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
        *lookup_parameters(index, source),
        _IF_NONE_MATCH,
    ]
    return _with_etag(lookup, "The page that If-None-Match names has not changed.")


def _batch(index: Index, definitions: Definitions) -> Schema:
    call = call_with_key(
        f"findMany.{index.name}",
        f"Many lookups of {index.name}: the first page of each, or its problem",
        batch_schema(index),
        [400, 404, 500, 503],
    )
    return {**call, "requestBody": batch_body(index, definitions.sources[index.source])}


def _count(index: Index, definitions: Definitions) -> Schema:
    call = call_with_key(
        f"count.{index.name}",
        f"How many entries a lookup of {index.name} would find",
        schema_of(CountJson),
        [400, 404, 500, 503],
    )
    call["parameters"] = [*count_parameters(index, definitions.sources[index.source]), _IF_NONE_MATCH]
    return _with_etag(call, "The count that If-None-Match names has not changed.")


def _with_etag(call: Schema, unchanged: str) -> Schema:
    call["responses"]["200"]["headers"] = {"ETag": {"schema": {"type": "string"}}}
    call["responses"]["304"] = {"description": unchanged}
    return call


def _explanation(index: Index, definitions: Definitions) -> Schema:
    explanation = call_with_key(
        f"explain.{index.name}",
        f"How a lookup of {index.name} would run",
        schema_of(ExplanationJson),
        [400, 404, 410, 500, 503],
    )
    source = definitions.sources[index.source]
    explanation["parameters"] = lookup_parameters(index, source)
    return explanation
