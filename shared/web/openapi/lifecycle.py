"""The calls that build, switch and roll back in the OpenAPI document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shared.web.api.lifecycle import GenerationJson, IndexStateJson, ServingJson, TransactionBudget
from shared.web.openapi.calls import ADMIN_KEY, call_with_key
from shared.web.openapi.parameters import index_name
from shared.web.openapi.schema_parts import SWITCH, body_of
from shared.web.openapi.schemas import schema_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.web.openapi.schema_parts import Schema

_PROBLEMS: Final = (400, 404, 409, 500, 503)
_READING_PROBLEMS: Final = (400, 404, 500, 503)


def lifecycle_paths(names: Sequence[str]) -> dict[str, Any]:
    """How an index stands, and what moves it on; no call without an index."""
    base = "/api/indexes/{name}"
    standing, served = schema_of(IndexStateJson), schema_of(ServingJson)
    start = call_with_key(
        "startBuild", "Build the generation of a changed definition", standing, _PROBLEMS, ADMIN_KEY, good=202
    )
    calls: dict[str, dict[str, Schema]] = {
        f"{base}/builds": {
            "get": call_with_key("getBuilds", "How the index stands", standing, _READING_PROBLEMS, ADMIN_KEY),
            "post": {**start, "requestBody": body_of(budget=schema_of(TransactionBudget))},
        },
        f"{base}/read-only": {
            "post": _call("makeReadOnly", "Write no more to what serves while it moves", schema_of(GenerationJson))
        },
        f"{base}/switch": {
            "post": {
                **_call("switchIndex", "Let the new generation serve", served),
                "requestBody": body_of(force=SWITCH),
            }
        },
        f"{base}/rollback": {"post": _call("rollBackIndex", "Let the generation before serve again", served)},
    }
    return with_index_name(calls, names)


def with_index_name(calls: dict[str, dict[str, Schema]], names: Sequence[str]) -> dict[str, Any]:
    """Calls about one index, each with its name as the first parameter."""
    return {
        path: {
            method: {**call, "parameters": [index_name(names), *call.get("parameters", ())]}
            for method, call in methods.items()
        }
        for path, methods in calls.items()
        if names
    }


def _call(operation_id: str, summary: str, answer: Schema) -> Schema:
    return call_with_key(operation_id, summary, answer, _PROBLEMS, ADMIN_KEY)
