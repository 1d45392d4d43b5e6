"""The calls about verifications in the OpenAPI document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shared.web.api.lifecycle import TransactionBudget
from shared.web.api.verifications import IDENTITY, SampleSize, VerificationJson, VerificationListJson
from shared.web.openapi.calls import ADMIN_KEY, Wording, call_with_key, tagged
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


_LOCATION: Final[Schema] = {
    "schema": {**TEXT, "format": "uri-reference"},
    "description": "Where its report will be.",
}
_START: Final = Wording(
    "startVerification",
    "Verify an index",
    "Compares entries with facts, all or a sample, and repairs what differs where the body says so.",
)
_LIST: Final = Wording(
    "listVerifications", "The latest verifications", "The latest 50: how they stand, and what they found."
)
_SHOW: Final = Wording(
    "getVerification", "One verification, with its report", "Ask again until its `state` is `done` or `failed`."
)


def verification_paths(names: Sequence[str]) -> dict[str, Any]:
    """Starting a verification, and reading how it stands; no call without an index."""
    base = "/api/indexes/{name}/verifications"
    verification, reading = schema_of(VerificationJson), (400, 404, 500, 503)
    listed = schema_of(VerificationListJson)
    start = call_with_key(_START, verification, (400, 404, 409, 500, 503), ADMIN_KEY, good=202)
    start["responses"]["202"]["headers"] = {"Location": _LOCATION}
    body = body_of(
        generation=TEXT,
        sample=schema_of(SampleSize),
        budget=schema_of(TransactionBudget),
        repair=SWITCH,
        reconcile=SWITCH,
    )
    shown = call_with_key(_SHOW, verification, reading, ADMIN_KEY)
    calls: dict[str, dict[str, Schema]] = {
        base: {
            "get": call_with_key(_LIST, listed, reading, ADMIN_KEY),
            "post": {**start, "requestBody": body},
        },
        f"{base}/{{id}}": {"get": {**shown, "parameters": [_ID]}},
    }
    return tagged("verifications", with_index_name(calls, names))
