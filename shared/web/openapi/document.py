"""The OpenAPI 3.1 document of an app, made from its definitions: one path per index, with typed parameters."""

from __future__ import annotations

import json
import re
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
from shared.web.openapi.calls import SECURITY, TAGS, TOKEN_SECURITY, Wording, anonymous, call_with_key, tagged
from shared.web.openapi.dead_letters import dead_letter_paths
from shared.web.openapi.erasures import erasure_paths
from shared.web.openapi.lifecycle import lifecycle_paths
from shared.web.openapi.parameters import batch_body, count_parameters, index_name, lookup_parameters
from shared.web.openapi.schema_parts import TEXT
from shared.web.openapi.schemas import batch_schema, component_schemas, page_schema, schema_of
from shared.web.openapi.verifications import verification_paths

if TYPE_CHECKING:
    from shared.definitions.model import Definitions, Index, Source
    from shared.web.access import Rights
    from shared.web.answers import HttpAnswer
    from shared.web.openapi.schema_parts import Schema

VERSION: Final = "3.1.0"
_INFO: Final = {
    "title": "Index Tables",
    "version": "1.0",
    "description": "Look up facts by what they contain. docs/http-api.md says more.",
    "contact": {"name": "Those who run this app"},
    "license": {"name": "MIT", "identifier": "MIT"},
}
_REFERENCE: Final = re.compile('#/components/schemas/([^"]+)')
_LOOKUP_PROBLEMS: Final = (400, 404, 410, 500, 503)
_IF_NONE_MATCH: Final = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "The `ETag` of an earlier answer: 304 when that still holds.",
    "schema": TEXT,
}
_ETAG: Final = {"description": "Changes with the answer; not with `expand=fact`.", "schema": TEXT}
_STATUS_CALLS: Final = (
    Wording("getOpenApi", "This document", "Made from the definitions; without indexes that the caller may not read."),
    Wording("getStatus", "How the app is", "How far behind every source is, what was done and what it costs."),
    Wording("getLagHistory", "Lag over time", "How far behind each source was."),
    Wording("getAdvice", "Every index in numbers, and advice", "What the Index Table pattern warns of."),
    Wording("isLive", "The process runs", "Says nothing of what it needs."),
    Wording("isReady", "The app can do its work", "Or most of it (`degraded`). What is wrong is told to operators."),
    Wording("getHealthDetails", "The same with what is wrong", "What does not work is in `limits`."),
)


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
    paths = {
        **tagged("lookups", _lookup_paths(definitions)),
        **tagged("status", _status_paths()),
        **dead_letter_paths(definitions),
        **lifecycle_paths(names),
        **verification_paths(names),
        **erasure_paths(definitions),
    }
    return {
        "openapi": VERSION,
        "info": _INFO,
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": about} for name, about in TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": _used(component_schemas(definitions), paths),
            "securitySchemes": SECURITY,
        },
    }


def _used(schemas: dict[str, Schema], paths: dict[str, Any]) -> dict[str, Schema]:
    """Those that a call refers to, also by way of another: without indexes, some calls are missing."""
    found: set[str] = set()
    more = set(_REFERENCE.findall(json.dumps(paths)))
    while more:
        found |= more
        more = set(_REFERENCE.findall(json.dumps([schemas[name] for name in more]))) - found
    return {name: schema for name, schema in schemas.items() if name in found}


def _lookup_paths(definitions: Definitions) -> dict[str, dict[str, Schema]]:
    """What indexes there are, and the lookups of each."""
    names = list(definitions.indexes)
    listed = Wording("listIndexes", "All indexes", "Their keys, what they project, and which generation serves.")
    paths = {"/api/indexes": {"get": _read(listed, schema_of(IndexListJson))}}
    if names:
        shown = Wording("getIndex", "One index", "Its key, what it projects, and which generation serves.")
        call = call_with_key(shown, schema_of(IndexJson), [400, 404, 500, 503])
        paths["/api/indexes/{name}"] = {"get": {**call, "parameters": [index_name(names)]}}
    for index in definitions.indexes.values():
        base = f"/api/indexes/{index.name}"
        source = definitions.sources[index.source]
        paths[f"{base}/entries"] = {"get": _lookup(index, source)}
        paths[f"{base}/lookups"] = {"post": _batch(index, source)}
        paths[f"{base}/count"] = {"get": _count(index, source)}
        paths[f"{base}/explain"] = {"get": _explanation(index, source)}
    return paths


def _status_paths() -> dict[str, dict[str, Schema]]:
    """How the app is; each with a key but for health."""
    document, status, history, advice, live, ready, details = _STATUS_CALLS
    return {
        "/api/openapi.json": {"get": _read(document, {"type": "object", "additionalProperties": True})},
        "/api/status": {"get": _read(status, schema_of(StatusJson))},
        "/api/status/history": {"get": _read(history, schema_of(LagHistoryJson))},
        "/api/advice": {"get": _read(advice, schema_of(AdviceReportJson))},
        "/api/health/live": {"get": anonymous(live, schema_of(HealthJson), [])},
        "/api/health/ready": {"get": anonymous(ready, schema_of(HealthJson), [500, 503])},
        "/api/health/details": {"get": _read(details, schema_of(HealthJson))},
    }


def _read(wording: Wording, answer: Schema) -> Schema:
    return call_with_key(wording, answer, [400, 500, 503])


def _lookup(index: Index, source: Source) -> Schema:
    partition = " and ".join(f"`{part.name}`" for part in index.partition)
    wording = Wording(
        f"find.{index.name}",
        f"Look up entries of {index.name}",
        f"Equality on {partition}, then on leading sort parts, then at most one range. Follow `nextLink` as it is.",
    )
    lookup = call_with_key(wording, page_schema(index), _LOOKUP_PROBLEMS)
    lookup["parameters"] = [*lookup_parameters(index, source), _IF_NONE_MATCH]
    return _with_etag(lookup, "The page that If-None-Match names has not changed.")


def _batch(index: Index, source: Source) -> Schema:
    wording = Wording(
        f"findMany.{index.name}",
        f"Many lookups of {index.name}: the first page of each, or its problem",
        "Up to 100 lookups with JSON values, answered in the order asked.",
    )
    call = call_with_key(wording, batch_schema(index), [400, 404, 500, 503])
    return {**call, "requestBody": batch_body(index, source)}


def _count(index: Index, source: Source) -> Schema:
    wording = Wording(
        f"count.{index.name}",
        f"How many entries a lookup of {index.name} would find",
        "Reads keys only, of at most 100 000 rows; `isExact` is false when there are more.",
    )
    call = call_with_key(wording, schema_of(CountJson), [400, 404, 500, 503])
    call["parameters"] = [*count_parameters(index, source), _IF_NONE_MATCH]
    return _with_etag(call, "The count that If-None-Match names has not changed.")


def _with_etag(call: Schema, unchanged: str) -> Schema:
    call["responses"]["200"]["headers"] = {"ETag": _ETAG}
    call["responses"]["304"] = {"description": unchanged, "headers": {"ETag": _ETAG}}
    return call


def _explanation(index: Index, source: Source) -> Schema:
    wording = Wording(
        f"explain.{index.name}",
        f"How a lookup of {index.name} would run",
        "What it reads and what that takes; of one that would be refused, why.",
    )
    explanation = call_with_key(wording, schema_of(ExplanationJson), _LOOKUP_PROBLEMS)
    explanation["parameters"] = lookup_parameters(index, source)
    return explanation
