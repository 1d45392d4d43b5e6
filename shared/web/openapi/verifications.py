"""The calls about verifications in the OpenAPI document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shared.web.api.lifecycle import TransactionBudget
from shared.web.api.verifications import IDENTITY, SampleSize, VerificationJson, VerificationListJson
from shared.web.openapi.calls import ADMIN_KEY, call_with_key
from shared.web.openapi.lifecycle import with_index_name
from shared.web.openapi.schema_parts import SWITCH, TEXT, body_of
from shared.web.openapi.schemas import schema_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.web.openapi.schema_parts import Schema

_ID: Final[Schema] = {
    "name": "id",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": f"^{IDENTITY}$"},
}


def verification_paths(names: Sequence[str]) -> dict[str, Any]:
    """Starting a verification, and reading how it stands; no call without an index."""
    base = "/api/indexes/{name}/verifications"
    verification, reading = schema_of(VerificationJson), (400, 404, 500, 503)
    listed = schema_of(VerificationListJson)
    start = call_with_key(
        "startVerification", "Verify an index", verification, (400, 404, 409, 500, 503), ADMIN_KEY, good=202
    )
    start["responses"]["202"]["headers"] = {"Location": {"schema": TEXT, "description": "Where its report will be."}}
    body = body_of(
        generation=TEXT,
        sample=schema_of(SampleSize),
        budget=schema_of(TransactionBudget),
        repair=SWITCH,
        reconcile=SWITCH,
    )
    shown = call_with_key("getVerification", "One verification, with its report", verification, reading, ADMIN_KEY)
    calls: dict[str, dict[str, Schema]] = {
        base: {
            "get": call_with_key("listVerifications", "The latest verifications", listed, reading, ADMIN_KEY),
            "post": {**start, "requestBody": body},
        },
        f"{base}/{{id}}": {"get": {**shown, "parameters": [_ID]}},
    }
    return with_index_name(calls, names)
