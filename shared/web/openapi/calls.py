"""Calls of the OpenAPI document: what they answer, and the key that they need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from shared.web.openapi.schema_parts import TEXT, reference
from shared.web.problems import MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    401: "The caller is not known. The platform's answer to a missing or wrong key has no body.",
    403: "The caller may not do this; `detail` names the role that is missing, or the part that is bound.",
    404: "There is no such index, dead letter or verification.",
    409: "It cannot be done as things are; `code` and `detail` say why.",
    410: "The token's generation is retired.",
    500: "Something went wrong inside.",
    503: "Not now; `code` says why.",
}


_UNAUTHORIZED: Final = 401
_UNAVAILABLE: Final = 503
_HEADERS: Final[dict[int, Schema]] = {
    _UNAVAILABLE: {
        "Retry-After": {
            "description": "How many seconds to wait; absent when waiting does not help.",
            "schema": {"type": "integer", "minimum": 0},
        }
    },
    _UNAUTHORIZED: {
        "WWW-Authenticate": {"description": "`Bearer`, where tokens are asked for.", "schema": TEXT},
    },
}
_STOPPED: Final[Schema] = {
    "description": "The platform's answer for an app that is stopped, or that may not be called from here.",
    "content": {"text/html": {"schema": TEXT}},
}
Tag: TypeAlias = Literal["lookups", "status", "dead letters", "builds", "verifications", "erasures"]
TAGS: Final[Mapping[Tag, str]] = {
    "lookups": "Find entries of indexes, and what indexes there are.",
    "status": "How the app is, and how to call it.",
    "dead letters": "What could not be indexed: see, replay and forget it.",
    "builds": "Build the generation of a changed definition, and let it serve.",
    "verifications": "See whether an index is right, and repair it.",
    "erasures": "See what is left of a deleted fact, and force it out.",
}


class Wording(NamedTuple):
    """What a call is called, in a few words and in a sentence or two."""

    operation_id: str
    summary: str
    description: str


def call_with_key(
    wording: Wording,
    answer: Schema,
    problems: Sequence[int],
    key: str = FUNCTION_KEY,
    *,
    good: int = 200,
) -> Schema:
    """A call that needs a key, which the platform checks; `good` is the status of what it answers when all is well."""
    return _call(wording, [{key: []}], _responses(answer, (_UNAUTHORIZED, *problems), good))


def anonymous(wording: Wording, answer: Schema, problems: Sequence[int]) -> Schema:
    """A call that needs no key."""
    return _call(wording, [], {**_responses(answer, problems, 200), "403": _STOPPED})


def tagged(tag: Tag, paths: Mapping[str, Mapping[str, Schema]]) -> dict[str, dict[str, Schema]]:
    """Calls by path and method that belong together."""
    return {
        path: {method: {"tags": [tag], **call} for method, call in methods.items()} for path, methods in paths.items()
    }


def _call(wording: Wording, security: list[Schema], responses: Schema) -> Schema:
    operation_id, summary, description = wording
    named = {"operationId": operation_id, "summary": summary, "description": description}
    return {**named, "security": security, "responses": responses}


def _responses(answer: Schema, problems: Sequence[int], good: int) -> Schema:
    """The good answer, and the problems with these statuses."""
    content = {"application/json": {"schema": answer}}
    found: Schema = {str(good): {"description": _GOOD[good], "content": content}}
    for status in problems:
        content = {MEDIA_TYPE: {"schema": reference("Problem")}}
        headers = {"headers": _HEADERS[status]} if status in _HEADERS else {}
        found[str(status)] = {"description": _STATUSES[status], **headers, "content": content}
    return found
