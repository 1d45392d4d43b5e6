"""Calls of the OpenAPI document: what they answer, and the key that they need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shared.web.openapi.schema_parts import reference
from shared.web.problems import MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.web.openapi.schema_parts import Schema

FUNCTION_KEY: Final = "functionKey"
ADMIN_KEY: Final = "adminKey"
# Both come in the same header; the admin key is good for everything.
SECURITY: Final[Schema] = {
    name: {"type": "apiKey", "in": "header", "name": "x-functions-key", "description": description}
    for name, description in (
        (FUNCTION_KEY, "A function key, or the admin key."),
        (ADMIN_KEY, "The admin key, in Azure `_master`."),
    )
}
# The same calls where callers are known by Entra ID: in place of the keys, a token with the roles that a call asks for.
TOKEN_SECURITY: Final[Schema] = {
    name: {"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": description}
    for name, description in (
        (FUNCTION_KEY, "A token of Microsoft Entra ID with an app role that may look up."),
        (ADMIN_KEY, "A token of Microsoft Entra ID with an app role of operators."),
    )
}
_GOOD: Final = {200: "Fine.", 202: "It has begun."}
_STATUSES: Final = {
    400: "The request cannot be answered as it is; `code` and `errors` say why.",
    403: "The caller may not do this; `detail` names the role that is missing, or the part that is bound.",
    404: "There is no such index, dead letter or verification.",
    409: "It cannot be done as things are; `code` and `detail` say why.",
    410: "The token's generation is retired.",
    500: "Something went wrong inside.",
    503: "Not now; `code` says why.",
}


def call_with_key(
    operation_id: str,
    summary: str,
    answer: Schema,
    problems: Sequence[int],
    key: str = FUNCTION_KEY,
    *,
    good: int = 200,
) -> Schema:
    """A call that needs a key, which the platform checks; `good` is the status of what it answers when all is well."""
    responses = _responses(answer, problems, good)
    responses["401"] = {"description": "The key is missing or wrong."}
    return {"operationId": operation_id, "summary": summary, "security": [{key: []}], "responses": responses}


def anonymous(operation_id: str, summary: str, answer: Schema, problems: Sequence[int]) -> Schema:
    """A call that needs no key."""
    responses = _responses(answer, problems, 200)
    return {"operationId": operation_id, "summary": summary, "security": [], "responses": responses}


def _responses(answer: Schema, problems: Sequence[int], good: int) -> Schema:
    """The good answer, and the problems with these statuses."""
    content = {"application/json": {"schema": answer}}
    found: Schema = {str(good): {"description": _GOOD[good], "content": content}}
    for status in problems:
        content = {MEDIA_TYPE: {"schema": reference("Problem")}}
        found[str(status)] = {"description": _STATUSES[status], "content": content}
    return found
