"""The calls that build, switch and roll back in the OpenAPI document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shared.web.api.lifecycle import GenerationJson, IndexStateJson, ServingJson, TransactionBudget
from shared.web.openapi.calls import ADMIN_KEY, Wording, call_with_key, tagged
from shared.web.openapi.parameters import index_name
from shared.web.openapi.schema_parts import SWITCH, body_of
from shared.web.openapi.schemas import schema_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.web.openapi.schema_parts import Schema

_PROBLEMS: Final = (400, 404, 409, 500, 503)
_READING_PROBLEMS: Final = (400, 404, 500, 503)
_BUILD: Final = Wording(
    "startBuild",
    "Build the generation of a changed definition",
    "From the facts of its source, while the generation before serves. Ask for the builds to see how far it is.",
)
_BUILDS: Final = Wording(
    "getBuilds", "How the index stands", "What serves, what its definition says, and how far the build is."
)
_READ_ONLY: Final = Wording(
    "makeReadOnly",
    "Write no more to what serves while it moves",
    "Nothing is written to what serves from now on; what takes its place gets every change.",
)
_SWITCH: Final = Wording(
    "switchIndex",
    "Let the new generation serve",
    "Every lookup uses it from the moment `since` on. It must be built and verified, or the switch forced.",
)
_ROLLBACK: Final = Wording(
    "rollBackIndex", "Let the generation before serve again", "As long as it is kept and gets every change."
)


def lifecycle_paths(names: Sequence[str]) -> dict[str, Any]:
    """How an index stands, and what moves it on; no call without an index."""
    base = "/api/indexes/{name}"
    standing, served = schema_of(IndexStateJson), schema_of(ServingJson)
    start = call_with_key(_BUILD, standing, _PROBLEMS, ADMIN_KEY, good=202)
    calls: dict[str, dict[str, Schema]] = {
        f"{base}/builds": {
            "get": call_with_key(_BUILDS, standing, _READING_PROBLEMS, ADMIN_KEY),
            "post": {**start, "requestBody": body_of(budget=schema_of(TransactionBudget))},
        },
        f"{base}/read-only": {"post": _call(_READ_ONLY, schema_of(GenerationJson))},
        f"{base}/switch": {
            "post": {
                **_call(_SWITCH, served),
                "requestBody": body_of(force=SWITCH),
            }
        },
        f"{base}/rollback": {"post": _call(_ROLLBACK, served)},
    }
    return tagged("builds", with_index_name(calls, names))


def with_index_name(calls: dict[str, dict[str, Schema]], names: Sequence[str]) -> dict[str, dict[str, Schema]]:
    """Calls about one index, each with its name as the first parameter."""
    return {
        path: {
            method: {**call, "parameters": [index_name(names), *call.get("parameters", ())]}
            for method, call in methods.items()
        }
        for path, methods in calls.items()
        if names
    }


def _call(wording: Wording, answer: Schema) -> Schema:
    return call_with_key(wording, answer, _PROBLEMS, ADMIN_KEY)
