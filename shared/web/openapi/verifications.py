"""The calls about verifications in the OpenAPI document, and the schema of what they answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args

from shared.tasks.rows import TaskState
from shared.verification.findings import KINDS
from shared.verification.report import COUNTS, MORE_COUNTS
from shared.verification.sample import SAMPLE_MAX
from shared.web.api.verifications import IDENTITY
from shared.web.openapi.calls import ADMIN_KEY, call_with_key
from shared.web.openapi.lifecycle import BUDGET, with_index_name
from shared.web.openapi.schema_parts import CLAIM, COUNT, INSTANT, TEXT, body_of, list_of, object_of, or_null, reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.web.openapi.schemas import Schema

_SAMPLE: Final[Schema] = {"type": "integer", "minimum": 1, "maximum": SAMPLE_MAX}
_ID: Final[Schema] = {
    "name": "id",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": f"^{IDENTITY}$"},
}


def verification_paths(names: Sequence[str]) -> dict[str, Any]:
    """Starting one, and seeing how they stand; none without an index."""
    base = "/api/indexes/{name}/verifications"
    one, reading = reference("Verification"), (400, 404, 500, 503)
    listed = object_of(value=list_of(one))
    start = call_with_key("startVerification", "Verify an index", one, (400, 404, 409, 500, 503), ADMIN_KEY, good=202)
    start["responses"]["202"]["headers"] = {"Location": {"schema": TEXT, "description": "Where its report will be."}}
    body = body_of(generation=TEXT, sample=_SAMPLE, budget=BUDGET, repair=CLAIM, reconcile=CLAIM)
    shown = call_with_key("getVerification", "One verification, with its report", one, reading, ADMIN_KEY)
    calls: dict[str, dict[str, Schema]] = {
        base: {
            "get": call_with_key("listVerifications", "The latest verifications", listed, reading, ADMIN_KEY),
            "post": {**start, "requestBody": body},
        },
        f"{base}/{{id}}": {"get": {**shown, "parameters": [_ID]}},
    }
    return with_index_name(calls, names)


def verification_schema() -> Schema:
    """A verification: what was asked for, how it stands, what it has found so far."""
    return object_of(
        id=TEXT,
        index=TEXT,
        generation=TEXT,
        state={"enum": list(get_args(TaskState))},
        sample=or_null(_SAMPLE),
        repair=CLAIM,
        reconcile=CLAIM,
        budget=or_null(BUDGET),
        startedAt=INSTANT,
        endedAt=or_null(INSTANT),
        problem=or_null(TEXT),
        **dict.fromkeys((*COUNTS, *MORE_COUNTS), COUNT),
        differences=object_of(**dict.fromkeys(KINDS, COUNT)),
        total=COUNT,
        examples=list_of(object_of(kind={"enum": list(KINDS)}, factKey=TEXT)),
    )
