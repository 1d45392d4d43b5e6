"""The call about what is left of deleted facts in the OpenAPI document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shared.web.api.erasures import PARTITION_KEY, ErasureJson
from shared.web.openapi.calls import ADMIN_KEY, Wording, call_with_key, tagged
from shared.web.openapi.schema_parts import SWITCH, TEXT, body_of
from shared.web.openapi.schemas import schema_of

if TYPE_CHECKING:
    from shared.definitions.model import Definitions

_ERASE: Final = Wording(
    "erase",
    "What is left of a deleted fact",
    "In the ledger, in tables, dead letters and reports, and until when. With `force` it is forced out first.",
)
_SCALAR: Final = {"type": ["string", "number", "boolean", "null"]}


def erasure_paths(definitions: Definitions) -> dict[str, Any]:
    """Showing what is left of a fact, and forcing it out; no call without a source."""
    if not definitions.sources:
        return {}
    call = call_with_key(_ERASE, schema_of(ErasureJson), [400, 404, 409, 500, 503], ADMIN_KEY)
    body = body_of(
        source={**TEXT, "enum": list(definitions.sources)},
        id=TEXT,
        force=SWITCH,
        **{PARTITION_KEY: {"anyOf": [_SCALAR, {"type": "array", "items": _SCALAR}]}},
    )
    schema = body["content"]["application/json"]["schema"]
    schema["required"] = ["source", "id"]
    return tagged("erasures", {"/api/erasures": {"post": {**call, "requestBody": {**body, "required": True}}}})
