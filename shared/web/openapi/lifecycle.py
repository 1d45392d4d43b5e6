"""The calls that build, switch and roll back in the OpenAPI document, and the schemas of what they answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args

from shared.catalog.rows import GenerationPhase
from shared.tasks.rows import TaskState
from shared.web.openapi.calls import ADMIN_KEY, call_with_key
from shared.web.openapi.parameters import index_name
from shared.web.openapi.schema_parts import (
    CLAIM,
    COUNT,
    INSTANT,
    TEXT,
    body_of,
    object_of,
    one_or_null,
    or_null,
    reference,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.web.openapi.schemas import Schema

# Storage transactions per second; a build or verification with less does nothing.
BUDGET: Final[Schema] = {"type": "number", "minimum": 1}
_PROBLEMS: Final = (400, 404, 409, 500, 503)
_READING_PROBLEMS: Final = (400, 404, 500, 503)


def lifecycle_paths(names: Sequence[str]) -> dict[str, Any]:
    """How an index stands, and what moves it on; none without an index."""
    base = "/api/indexes/{name}"
    standing, served = reference("Standing"), reference("Served")
    start = call_with_key(
        "startBuild", "Build the generation of a changed definition", standing, _PROBLEMS, ADMIN_KEY, good=202
    )
    calls: dict[str, dict[str, Schema]] = {
        f"{base}/builds": {
            "get": call_with_key("getBuilds", "How the index stands", standing, _READING_PROBLEMS, ADMIN_KEY),
            "post": {**start, "requestBody": body_of(budget=BUDGET)},
        },
        f"{base}/read-only": {
            "post": _call("makeReadOnly", "Write no more to what serves while it moves", reference("Generation"))
        },
        f"{base}/switch": {
            "post": {
                **_call("switchIndex", "Let the new generation serve", served),
                "requestBody": body_of(force=CLAIM),
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


def generation_schema() -> Schema:
    """A generation. Null is what has not happened."""
    return object_of(
        id=TEXT,
        state={"enum": list(get_args(GenerationPhase))},
        table=TEXT,
        enteredAt=INSTANT,
        buildsFrom=INSTANT,
        builtAt=or_null(INSTANT),
        unbuilt=COUNT,
        verified=or_null(object_of(at=INSTANT, differences=COUNT)),
        unwantedSince=or_null(INSTANT),
        readOnlySince=or_null(INSTANT),
    )


def standing_schema() -> Schema:
    """How an index stands."""
    generation = one_or_null("Generation")
    return object_of(index=TEXT, serving=generation, defined=generation, build=or_null(_build()))


def served_schema() -> Schema:
    """What serves, from when on, and what served before."""
    return object_of(index=TEXT, serving=TEXT, before=or_null(TEXT), since=INSTANT)


def _build() -> Schema:
    return object_of(
        id=TEXT,
        state={"enum": list(get_args(TaskState))},
        startedAt=INSTANT,
        notBefore=INSTANT,
        endedAt=or_null(INSTANT),
        problem=or_null(TEXT),
        budget=or_null(BUDGET),
        slices=COUNT,
        slicesDone=COUNT,
        counts={"type": "object", "additionalProperties": COUNT},
    )


def _call(operation_id: str, summary: str, answer: Schema) -> Schema:
    return call_with_key(operation_id, summary, answer, _PROBLEMS, ADMIN_KEY)
