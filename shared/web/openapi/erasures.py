"""The call about what is left of deleted facts in the OpenAPI document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shared.web.api.erasures import PARTITION_KEY, ErasureJson
from shared.web.openapi.calls import ADMIN_KEY, Wording, call_with_key, tagged
from shared.web.openapi.schema_parts import PARTITION_KEY_VALUE, SWITCH, TEXT, body_of
from shared.web.openapi.schemas import schema_of

if TYPE_CHECKING:
    from shared.definitions.model import Definitions

_ERASE: Final = Wording(
    "erase",
    "What is left of a deleted fact",
    "In the ledger, in tables, dead letters and reports, and until when. With `force` it is forced out first.",
)


def erasure_paths(definitions: Definitions) -> dict[str, Any]:
    """Showing what is left of a fact, and forcing it out; no call without a source."""
    if not definitions.sources:
        return {}
    call = call_with_key(_ERASE, schema_of(ErasureJson), [400, 404, 409, 500, 503], ADMIN_KEY)
    # How many values there are depends on the source.
    levels = [max(1, len(source.partition_key)) for source in definitions.sources.values()]
    several = {"type": "array", "items": PARTITION_KEY_VALUE, "minItems": min(levels), "maxItems": max(levels)}
    body = body_of(
        source={**TEXT, "enum": list(definitions.sources)},
        id=TEXT,
        force=SWITCH,
        **{PARTITION_KEY: {"anyOf": [PARTITION_KEY_VALUE, several]}},
    )
    schema = body["content"]["application/json"]["schema"]
    # A mix of sources that need it and sources that do not is more than the schema says.
    is_needed = not any(source.is_keyed_by_id for source in definitions.sources.values())
    schema["required"] = ["source", "id", *([PARTITION_KEY] if is_needed else [])]
    return tagged("erasures", {"/api/erasures": {"post": {**call, "requestBody": {**body, "required": True}}}})
